// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/coordinator.h"

#include <algorithm>

#include "base/check.h"
#include "group/partitioner.h"

namespace castellan::group {

namespace {

// Every operation a group has, as bits by operation code (READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS): what
// a client may do while no authorizer is configured.
constexpr int32_t all_group_operations = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;

}  // namespace

Coordinator::Coordinator(const Configuration& configuration, uint64_t seed) : configuration_(configuration), prng_(seed) {}
Coordinator::~Coordinator() = default;

void Coordinator::step(Now now, const TopicsView& topics, CoordinatorInput input) {
  now_ = now;
  topics_ = &topics;
  std::visit([&](const auto& alternative) { on(alternative, topics); }, input);
  topics_ = nullptr;
}

MonotonicTime Coordinator::next_deadline() const {
  MonotonicTime earliest = MonotonicTime::never();
  for (const auto& [partition, slot] : slots_)
    if (slot.stage == Slot::Stage::ACTIVE) earliest = std::min(earliest, slot.shard->next_deadline());
  return earliest;
}

Shard* Coordinator::loading_shard(int32_t partition) {
  const auto slot = slots_.find(partition);
  return slot != slots_.end() && slot->second.stage == Slot::Stage::LOADING ? slot->second.shard.get() : nullptr;
}

int32_t Coordinator::partition_for(std::string_view group) const { return partition_of(group, configuration_.offsets_partitions); }

void Coordinator::set_configuration(const Configuration& configuration) {
  configuration_ = configuration;
  for (auto& [partition, slot] : slots_)
    if (slot.shard) slot.shard->set_configuration(configuration);
}

void Coordinator::on(const ApiRequest& request, const TopicsView& topics) {
  std::visit([&](const auto& body) { route(request, body, topics); }, request.body);
}

void Coordinator::on(const BecameLeader& input, const TopicsView& topics) {
  on(Resigned{input.partition}, topics);
  slots_[input.partition].shard = std::make_unique<Shard>(configuration_, prng_.next());
}

void Coordinator::on(const LoadFinished& input, const TopicsView& topics) {
  const auto slot = slots_.find(input.partition);
  if (slot == slots_.end() || slot->second.stage != Slot::Stage::LOADING) return;  // led by another since
  slot->second.stage = Slot::Stage::ACTIVE;
  slot->second.shard->finish_loading(now_);
  collect(input.partition, slot->second, topics);
}

void Coordinator::on(const LoadFailed& input, const TopicsView&) {
  const auto slot = slots_.find(input.partition);
  if (slot == slots_.end() || slot->second.stage != Slot::Stage::LOADING) return;
  slot->second.stage = Slot::Stage::FAILED;
  slot->second.shard.reset();
}

void Coordinator::on(const Resigned& input, const TopicsView& topics) {
  const auto found = slots_.find(input.partition);
  if (found == slots_.end()) return;
  Slot slot = std::move(found->second);
  slots_.erase(found);
  if (slot.stage != Slot::Stage::ACTIVE) return;
  slot.shard->resign();
  collect(input.partition, slot, topics);
}

void Coordinator::on(const AppendedTo& input, const TopicsView& topics) {
  const auto slot = slots_.find(input.partition);
  if (slot == slots_.end() || slot->second.stage != Slot::Stage::ACTIVE) return;  // of a leadership that is over
  slot->second.shard->step(now_, input.appended);
  collect(input.partition, slot->second, topics);
}

void Coordinator::on(const CommittedIn& input, const TopicsView& topics) {
  const auto slot = slots_.find(input.partition);
  if (slot == slots_.end() || slot->second.stage != Slot::Stage::ACTIVE) return;
  slot->second.shard->step(now_, CommittedUpTo{input.offset});
  collect(input.partition, slot->second, topics);
}

void Coordinator::on(const TopicsDeleted& input, const TopicsView& topics) {
  for (auto& [partition, slot] : slots_) {
    if (slot.stage != Slot::Stage::ACTIVE) continue;
    slot.shard->step(now_, input);
    collect(partition, slot, topics);
  }
}

void Coordinator::on(const Tick&, const TopicsView& topics) {
  for (auto& [partition, slot] : slots_) {
    if (slot.stage != Slot::Stage::ACTIVE || slot.shard->next_deadline() > now_.monotonic) continue;
    slot.shard->step(now_, Tick{});
    collect(partition, slot, topics);
  }
}

uint64_t Coordinator::begin(const ApiRequest& request, ApiResponseBody response) {
  const uint64_t id = next_waiting_++;
  Waiting& waiting = waiting_[id];
  waiting.token = request.token;
  waiting.version = request.version;
  waiting.response = std::move(response);
  waiting.missing = 1;  // until end(): parts may be answered while others are still being asked
  return id;
}

void Coordinator::end(uint64_t id) {
  const auto found = waiting_.find(id);
  if (--found->second.missing != 0) return;
  actions_.push_back(ApiReply{found->second.token, std::move(found->second.response)});
  waiting_.erase(found);
}

void Coordinator::ask(uint64_t waiting, const ApiRequest& request, std::string_view group, size_t index, RequestBody body) {
  ask_partition(waiting, request, partition_for(group), index, std::move(body));
}

void Coordinator::ask_partition(uint64_t waiting, const ApiRequest& request, int32_t partition, size_t index, RequestBody body) {
  ++waiting_.at(waiting).missing;
  const Token part = next_part_++;
  parts_[part] = {waiting, index};
  const auto slot = slots_.find(partition);
  if (slot == slots_.end() || slot->second.stage != Slot::Stage::ACTIVE) {
    const bool is_loading = slot != slots_.end() && slot->second.stage == Slot::Stage::LOADING;
    ResponseBody error = error_response(body, request.version, is_loading ? ErrorCode::COORDINATOR_LOAD_IN_PROGRESS : ErrorCode::NOT_COORDINATOR);
    return on_part(*topics_, part, error);
  }
  slot->second.shard->step(now_, Request{part, request.version, request.client_id, request.client_host, std::move(body)});
  collect(partition, slot->second, *topics_);
}

void Coordinator::collect(int32_t partition, Slot& slot, const TopicsView& topics) {
  for (Action& action : slot.shard->take_actions()) {
    if (auto* append = std::get_if<Append>(&action)) actions_.push_back(AppendTo{partition, append->id, std::move(append->records)});
    else on_part(topics, std::get<Reply>(action).token, std::get<Reply>(action).response);
  }
}

void Coordinator::on_part(const TopicsView& topics, Token part, ResponseBody& response) {
  const auto found = parts_.find(part);
  CHECK(found != parts_.end(), "part {} is answered twice", part);
  const Part place = found->second;
  parts_.erase(found);
  merge(waiting_.at(place.waiting), place.index, response, topics);
  end(place.waiting);
}

namespace {

// Topics and partitions that were refused here come first, then what the group answered.
void add_topics(wire::OffsetCommitResponse& all, wire::OffsetCommitResponse&& more) {
  for (auto& topic : more.topics) {
    const auto same = std::ranges::find_if(all.topics, [&](const auto& known) { return known.name == topic.name && known.topic_id == topic.topic_id; });
    if (same == all.topics.end()) all.topics.push_back(std::move(topic));
    else std::ranges::move(topic.partitions, std::back_inserter(same->partitions));
  }
}

void add_topics(wire::OffsetDeleteResponse& all, wire::OffsetDeleteResponse&& more) {
  if (more.error_code != 0) {
    all = std::move(more);  // nothing was done: the error says it all
    return;
  }
  for (auto& topic : more.topics) {
    const auto same = std::ranges::find_if(all.topics, [&](const auto& known) { return known.name == topic.name; });
    if (same == all.topics.end()) all.topics.push_back(std::move(topic));
    else std::ranges::move(topic.partitions, std::back_inserter(same->partitions));
  }
}

}  // namespace

void Coordinator::merge(Waiting& waiting, size_t index, ResponseBody& response, const TopicsView& topics) {
  if (auto* leave = std::get_if<wire::LeaveGroupResponse>(&response); leave && waiting.version < 3) {
    // Before v3 there was one member, and its error was the request's.
    if (leave->error_code == 0 && !leave->members.empty()) leave->error_code = leave->members.front().error_code;
    leave->members.clear();
    waiting.response = std::move(*leave);
  } else if (auto* commit = std::get_if<wire::OffsetCommitResponse>(&response)) {
    add_topics(std::get<wire::OffsetCommitResponse>(waiting.response), std::move(*commit));
  } else if (auto* remove = std::get_if<wire::OffsetDeleteResponse>(&response)) {
    add_topics(std::get<wire::OffsetDeleteResponse>(waiting.response), std::move(*remove));
  } else if (auto* describe = std::get_if<wire::DescribeGroupsResponse>(&response)) {
    auto& group = std::get<wire::DescribeGroupsResponse>(waiting.response).groups[index];
    const bool wants_operations = group.authorized_operations == 0;  // set by route() where the client asked
    group = std::move(describe->groups.front());
    if (wants_operations && group.error_code == 0) group.authorized_operations = all_group_operations;
  } else if (auto* deleted = std::get_if<wire::DeleteGroupsResponse>(&response)) {
    std::get<wire::DeleteGroupsResponse>(waiting.response).results[index] = std::move(deleted->results.front());
  } else if (auto* list = std::get_if<wire::ListGroupsResponse>(&response)) {
    auto& all = std::get<wire::ListGroupsResponse>(waiting.response);
    if (all.error_code == 0 && list->error_code != 0 && list->error_code != static_cast<int16_t>(ErrorCode::NOT_COORDINATOR)) {
      all.error_code = list->error_code;
      all.groups.clear();
    }
    if (all.error_code == 0) std::ranges::move(list->groups, std::back_inserter(all.groups));
  } else if (auto* fetched = std::get_if<wire::OffsetFetchResponse::OffsetFetchResponseGroup>(&response)) {
    merge_fetched(waiting, index, *fetched, topics);
  } else if (auto* join = std::get_if<wire::JoinGroupResponse>(&response)) {
    waiting.response = std::move(*join);
  } else if (auto* sync = std::get_if<wire::SyncGroupResponse>(&response)) {
    waiting.response = std::move(*sync);
  } else if (auto* heartbeat = std::get_if<wire::HeartbeatResponse>(&response)) {
    waiting.response = *heartbeat;
  } else {
    waiting.response = std::move(std::get<wire::LeaveGroupResponse>(response));
  }
}

void Coordinator::merge_fetched(Waiting& waiting, size_t index, wire::OffsetFetchResponse::OffsetFetchResponseGroup& fetched,
                                const TopicsView& topics) {
  auto& all = std::get<wire::OffsetFetchResponse>(waiting.response);
  if (waiting.version >= version_with_topic_ids) {
    // An answer needs the ids of topics that were committed before there were ids; a topic that is gone has none.
    for (auto& topic : fetched.topics)
      if (topic.topic_id.is_zero()) topic.topic_id = topics.topic_id(topic.name);
    std::erase_if(fetched.topics, [](const auto& topic) { return topic.topic_id.is_zero(); });
  }
  if (waiting.version >= version_with_groups) {
    auto& group = all.groups[index];  // holds the topics that were refused
    if (fetched.error_code == 0) std::ranges::move(group.topics, std::back_inserter(fetched.topics));
    group = std::move(fetched);
    return;
  }
  all.error_code = fetched.error_code;
  for (auto& topic : fetched.topics) {
    auto& answer = all.topics.emplace_back();
    answer.name = std::move(topic.name);
    for (auto& partition : topic.partitions) {
      auto& result = answer.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      result.committed_offset = partition.committed_offset;
      result.committed_leader_epoch = partition.committed_leader_epoch;
      result.metadata = std::move(partition.metadata);
      result.error_code = partition.error_code;
    }
  }
}

}  // namespace castellan::group

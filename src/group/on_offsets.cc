// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// OffsetCommit, OffsetFetch and OffsetDelete. Whether a topic exists has been checked before (group/coordinator.h).
#include <algorithm>

#include "group/partitioner.h"
#include "group/shard.h"

namespace castellan::group {

namespace {

constexpr int16_t version_knows_member_epochs = 9;

using FetchedGroup = wire::OffsetFetchResponse::OffsetFetchResponseGroup;
using FetchedPartition = wire::OffsetFetchResponse::OffsetFetchResponsePartitions;

FetchedPartition fetched(int32_t partition, const OffsetAndMetadata* value, ErrorCode error = ErrorCode::NONE) {
  FetchedPartition result;
  result.partition_index = partition;
  result.committed_offset = value ? value->offset : -1;
  result.committed_leader_epoch = value ? value->leader_epoch : -1;
  result.metadata = value ? value->metadata : "";
  result.error_code = static_cast<int16_t>(error);
  return result;
}

// A topic that was deleted and made again has the name but not the offsets.
bool is_of_topic(const OffsetAndMetadata& value, const Uuid& topic_id) {
  return value.topic_id.is_zero() || topic_id.is_zero() || value.topic_id == topic_id;
}

}  // namespace

ErrorCode Shard::validate_commit(const Request& request, const wire::OffsetCommitRequest& commit) {
  const GroupPointer group = state_.find(commit.group_id);
  const int32_t generation = commit.generation_id_or_member_epoch;
  if (!group) {
    if (generation < 0) return ErrorCode::NONE;  // a consumer that assigns its partitions itself
    return request.version >= version_knows_member_epochs ? ErrorCode::GROUP_ID_NOT_FOUND : ErrorCode::ILLEGAL_GENERATION;
  }
  if (const OtherGroup* other = as_other(group)) {
    if (other->type() == GroupType::SHARE) return ErrorCode::GROUP_ID_NOT_FOUND;
    if (generation < 0 && !other->has_members()) return ErrorCode::NONE;
    const ErrorCode error = other->validate_member(commit.member_id, generation);
    if (error == ErrorCode::UNKNOWN_MEMBER_ID) return error;
    if (request.version < version_knows_member_epochs && !other->member_uses_classic_protocol(commit.member_id))
      return ErrorCode::UNSUPPORTED_VERSION;
    return error;
  }
  ClassicGroup& classic = *as_classic(group);
  if (generation < 0 && classic.is(ClassicState::EMPTY)) return ErrorCode::NONE;
  if (generation < 0 && commit.member_id.empty() && !commit.group_instance_id)
    return classic.is(ClassicState::EMPTY) ? ErrorCode::NONE : ErrorCode::UNKNOWN_MEMBER_ID;
  if (const ErrorCode error = classic.validate_member(commit.member_id, commit.group_instance_id); error != ErrorCode::NONE) return error;
  if (generation != classic.generation()) return ErrorCode::ILLEGAL_GENERATION;
  if (classic.is(ClassicState::COMPLETING_REBALANCE)) return ErrorCode::REBALANCE_IN_PROGRESS;
  return ErrorCode::NONE;
}

void Shard::on_offset_commit(const Request& request, const wire::OffsetCommitRequest& commit) {
  if (const ErrorCode error = validate_commit(request, commit); error != ErrorCode::NONE)
    return answer(request.token, error_response(commit, request.version, error));

  GroupPointer group = state_.find(commit.group_id);
  Operation operation;
  if (!group) state_.set_group(commit.group_id, std::make_shared<Group>(ClassicGroup(commit.group_id, wall_ms())), operation.journal);
  if (ClassicGroup* classic = as_classic(group)) {
    // A commit is a sign of life.
    if (const ClassicMember* member = classic->member(commit.member_id)) schedule_heartbeat(*classic, *member);
  }
  wire::OffsetCommitResponse response;
  for (const auto& topic : commit.topics) {
    auto& answer = response.topics.emplace_back();
    answer.name = topic.name;
    answer.topic_id = topic.topic_id;
    for (const auto& partition : topic.partitions) {
      auto& result = answer.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      const std::string metadata = partition.committed_metadata.value_or("");
      if (java_string_length(metadata) > static_cast<size_t>(configuration_.metadata_size_max)) {
        result.error_code = static_cast<int16_t>(ErrorCode::OFFSET_METADATA_TOO_LARGE);
        continue;
      }
      OffsetAndMetadata value;
      value.offset = partition.committed_offset;
      value.leader_epoch = partition.committed_leader_epoch;
      value.metadata = metadata;
      value.commit_timestamp = wall_ms();
      if (commit.retention_time_ms != -1) value.expire_timestamp = wall_ms() + commit.retention_time_ms;
      value.topic_id = topic.topic_id;
      const OffsetKey key{commit.group_id, topic.name, partition.partition_index};
      operation.records.push_back(offset_commit_record(key, value));
      state_.commit_offset(key, std::move(value), operation.journal);
    }
  }
  write(std::move(operation), SendReply{request.token, request.version, std::move(response)});
}

void Shard::on_offset_fetch(const Request& request, const OffsetFetch& fetch) {
  const auto& asked = fetch.group;
  // Stable offsets are read from the latest state and answered once that is committed; others from what is committed now.
  const bool stable = fetch.require_stable;
  const CommittedView view = stable ? CommittedView(state_, {}) : committed();
  const GroupPointer group = view.find(asked.group_id);
  bool is_known = group != nullptr;
  if (const OtherGroup* other = as_other(group)) {
    if (other->type() == GroupType::SHARE) {
      is_known = false;
    } else if (asked.member_id || asked.member_epoch >= 0) {
      const ErrorCode error = other->validate_member(asked.member_id.value_or(""), asked.member_epoch);
      if (error != ErrorCode::NONE) return answer(request.token, error_response(fetch, request.version, error));
    }
  }
  FetchedGroup response;
  response.group_id = asked.group_id;
  const auto result_of = [&](const OffsetKey& key, const OffsetAndMetadata* value) {
    if (stable && is_known && state_.offsets().has_pending(key)) return fetched(key.partition, nullptr, ErrorCode::UNSTABLE_OFFSET_COMMIT);
    return fetched(key.partition, value);
  };
  if (asked.topics) {
    for (const auto& topic : *asked.topics) {
      auto& answer = response.topics.emplace_back();
      answer.name = topic.name;
      answer.topic_id = topic.topic_id;
      for (const int32_t partition : topic.partition_indexes) {
        const OffsetKey key{asked.group_id, topic.name, partition};
        const auto value = is_known ? view.offset(key) : std::nullopt;
        answer.partitions.push_back(result_of(key, value && is_of_topic(*value, topic.topic_id) ? &*value : nullptr));
      }
    }
  } else if (is_known) {
    for (const auto& [topic, partitions] : view.offsets_of(asked.group_id)) {
      auto& answer = response.topics.emplace_back();
      answer.name = topic;
      for (const auto& [partition, value] : partitions) answer.partitions.push_back(result_of({asked.group_id, topic, partition}, &value));
    }
  }
  if (stable) answer_in_order(request.token, request.version, std::move(response));
  else answer(request.token, std::move(response));
}

void Shard::on_offset_delete(const Request& request, const wire::OffsetDeleteRequest& remove) {
  const GroupPointer group = state_.find(remove.group_id);
  const ClassicGroup* classic = as_classic(group);
  const OtherGroup* other = as_other(group);
  ErrorCode error = ErrorCode::NONE;
  if (!group || (other && other->type() == GroupType::SHARE)) error = ErrorCode::GROUP_ID_NOT_FOUND;
  else if (classic && !classic->is(ClassicState::EMPTY) && !classic->uses_consumer_protocol()) error = ErrorCode::NON_EMPTY_GROUP;
  if (error != ErrorCode::NONE) return answer(request.token, error_response(remove, request.version, error));

  Operation operation;
  wire::OffsetDeleteResponse response;
  for (const auto& topic : remove.topics) {
    auto& answer = response.topics.emplace_back();
    answer.name = topic.name;
    const bool subscribed = classic ? classic->is_subscribed_to(topic.name) : other->is_subscribed_to(topic.name);
    for (const auto& partition : topic.partitions) {
      auto& result = answer.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      if (subscribed) {
        result.error_code = static_cast<int16_t>(ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC);
        continue;
      }
      const OffsetKey key{remove.group_id, topic.name, partition.partition_index};
      if (!state_.offsets().find(key) && !state_.offsets().has_pending(key)) continue;
      operation.records.push_back(offset_tombstone(key));
      state_.remove_offset(key, operation.journal);
    }
  }
  write(std::move(operation), SendReply{request.token, request.version, std::move(response)});
}

}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/elections.h"

#include <algorithm>
#include <map>

#include "controller/replicas.h"
#include "wire/messages/elect_leaders_request.h"
#include "wire/messages/elect_leaders_response.h"

namespace castellan::controller {

namespace {

enum class ElectionType : int8_t { PREFERRED = 0, UNCLEAN = 1 };

std::optional<MetadataRecord> elect(const Context& context, const image::Topic& topic, int32_t index, Election election) {
  const PartitionState state = topic.partition(index)->state();
  PartitionTarget target(state);
  target.election = election;
  return change_partition({topic.id, index}, state, std::move(target), rules_for(context, topic, state));
}

Result<MetadataRecord> elect_one(const Context& context, const image::Topic& topic, int32_t index, ElectionType type) {
  const image::Partition* partition = topic.partition(index);
  if (partition == nullptr) return fail(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "No such partition as {}-{}", topic.name, index);
  const bool preferred = type == ElectionType::PREFERRED;
  if (preferred ? partition->has_preferred_leader() : partition->leader() != no_node) return unexpected(error_of(ErrorCode::ELECTION_NOT_NEEDED));
  auto record = elect(context, topic, index, preferred ? Election::PREFERRED : Election::UNCLEAN);
  if (!record) return unexpected(error_of(preferred ? ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE : ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE));
  return std::move(*record);
}

}  // namespace

ControllerResult elect_leaders(const Context& context, const wire::ElectLeadersRequest& request, int16_t version) {
  ControllerResult result;
  wire::ElectLeadersResponse response;
  if (request.election_type < 0 || request.election_type > 1) {
    return {.reply = elections_refused(request, version, {ErrorCode::INVALID_REQUEST, fmt::format("Unknown election type {}", request.election_type)})};
  }
  const auto type = static_cast<ElectionType>(request.election_type);
  const auto try_one = [&](const image::Topic* topic, const std::string& name, int32_t index, bool leave_out_not_needed,
                           wire::ElectLeadersResponse::ReplicaElectionResult& out) {
    Result<MetadataRecord> record = topic == nullptr ? fail(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "No such topic as {}", name)
                                                     : elect_one(context, *topic, index, type);
    if (record && result.records.size() == records_per_request_max) record = unexpected(error_of(ErrorCode::POLICY_VIOLATION));
    if (!record && record.error().code == ErrorCode::ELECTION_NOT_NEEDED && leave_out_not_needed) return;
    auto& partition = out.partition_result.emplace_back();
    partition.partition_id = index;
    partition.error_message.reset();
    if (record) {
      result.records.push_back(std::move(*record));
    } else {
      partition.error_code = number(record.error().code);
      partition.error_message = record.error().message;
    }
  };
  if (!request.topic_partitions) {
    for (const auto& [name, id] : context.image.topics.ids) {
      const image::Topic& topic = *context.image.topics.topic(id);
      auto& out = response.replica_election_results.emplace_back();
      out.topic = name;
      for (const auto& [index, partition] : topic.partitions) try_one(&topic, name, index, true, out);
    }
  } else {
    for (const auto& asked : *request.topic_partitions) {
      auto& out = response.replica_election_results.emplace_back();
      out.topic = asked.topic;
      for (int32_t index : asked.partitions) try_one(context.image.topics.by_name(asked.topic), asked.topic, index, false, out);
    }
  }
  result.reply = Reply::of(std::move(response));
  return result;
}

Reply elections_refused(const wire::ElectLeadersRequest& request, int16_t version, const Error& error) {
  wire::ElectLeadersResponse response;
  if (version >= 1) response.error_code = number(error.code);
  std::map<std::string, std::vector<int32_t>> asked;
  if (request.topic_partitions) {
    for (const auto& each : *request.topic_partitions) std::ranges::copy(each.partitions, std::back_inserter(asked[each.topic]));
  }
  for (const auto& [topic, partitions] : asked) {
    auto& out = response.replica_election_results.emplace_back();
    out.topic = topic;
    for (int32_t index : partitions) {
      auto& partition = out.partition_result.emplace_back();
      partition.partition_id = index;
      partition.error_code = number(error.code);
      partition.error_message = error.message;
    }
  }
  return Reply::of(std::move(response));
}

PeriodicElections balance_leaders(const Context& context) {
  PeriodicElections run;
  for (const auto& [key, nothing] : context.image.topics.imbalanced) {
    if (run.records.size() == elections_per_run_max) {
      run.more = true;
      break;
    }
    if (auto record = elect(context, *context.image.topics.topic(key.topic), key.partition, Election::PREFERRED)) run.records.push_back(std::move(*record));
  }
  return run;
}

PeriodicElections elect_unclean_leaders(const Context& context) {
  PeriodicElections run;
  for (const auto& [key, nothing] : context.image.topics.leaderless) {
    if (run.records.size() == elections_per_run_max) {
      run.more = true;
      break;
    }
    const image::Topic& topic = *context.image.topics.topic(key.topic);
    if (!unclean_election_enabled(context, topic.name)) continue;
    if (auto record = elect(context, topic, key.partition, Election::UNCLEAN)) run.records.push_back(std::move(*record));
  }
  return run;
}

}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/reassignments.h"

#include <algorithm>
#include <set>

#include "controller/new_partitions.h"
#include "controller/replicas.h"
#include "controller/topics.h"
#include "wire/messages/alter_partition_reassignments_request.h"
#include "wire/messages/alter_partition_reassignments_response.h"
#include "wire/messages/list_partition_reassignments_request.h"
#include "wire/messages/list_partition_reassignments_response.h"

namespace castellan::controller {

namespace {

using Changed = Result<std::optional<MetadataRecord>>;

// Back to the replicas from before, as far as they are still there (C289).
Changed cancel(const Context& context, const image::Topic& topic, const PartitionKey& key, const PartitionState& now) {
  if (now.removing.empty() && now.adding.empty()) return unexpected(error_of(ErrorCode::NO_REASSIGNMENT_IN_PROGRESS));
  PartitionTarget target(now);
  const auto was_added = [&](NodeId id) { return std::ranges::find(now.adding, id) != now.adding.end(); };
  std::erase_if(target.replicas, was_added);
  std::erase_if(target.isr, was_added);
  target.removing.clear();
  target.adding.clear();
  if (unclean_election_enabled(context, topic.name)) target.election = Election::UNCLEAN;
  if (target.isr.empty()) {
    if (target.replicas.empty()) return fail(ErrorCode::INVALID_REPLICA_ASSIGNMENT, "Invalid replica assignment: addingReplicas contains all replicas.");
    if (target.election != Election::UNCLEAN) {
      return fail(ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                  "Unable to revert partition assignment for {}:{} because it would require an unclean leader election.", topic.name, key.partition);
    }
    target.isr = {target.replicas.front()};
  }
  return change_partition(key, now, std::move(target), rules_for(context, topic, now));
}

Result<void> check_same_factor(const PartitionState& now, size_t wanted) {
  std::set<NodeId> target(now.replicas.begin(), now.replicas.end());
  target.insert(now.adding.begin(), now.adding.end());
  for (NodeId id : now.removing) target.erase(id);
  const size_t current = now.removing.empty() && now.adding.empty() ? now.replicas.size() : target.size();
  if (current == wanted) return {};
  return fail(ErrorCode::INVALID_REPLICATION_FACTOR, "The replication factor is changed from {} to {}", current, wanted);
}

Changed reassign(const Context& context, const image::Topic& topic, const PartitionKey& key, const PartitionState& now, const std::vector<int32_t>& replicas,
                 bool allow_factor_change) {
  TRY_VOID(validate_assignment(context, replicas, std::nullopt));
  if (!allow_factor_change) TRY_VOID(check_same_factor(now, replicas.size()));
  Reassignment plan = reassignment_to(now, node_ids(replicas));
  PartitionTarget target(now);
  target.replicas = std::move(plan.replicas);
  // A repeated request keeps the lists of the reassignment under way.
  if (!plan.removing.empty()) target.removing = std::move(plan.removing);
  if (!plan.adding.empty()) target.adding = std::move(plan.adding);
  return change_partition(key, now, std::move(target), rules_for(context, topic, now));
}

}  // namespace

ControllerResult alter_partition_reassignments(const Context& context, const wire::AlterPartitionReassignmentsRequest& request) {
  ControllerResult result{.atomic = true};
  wire::AlterPartitionReassignmentsResponse response;
  response.error_message.reset();
  response.allow_replication_factor_change = request.allow_replication_factor_change;
  for (const auto& asked : request.topics) {
    auto& out = response.responses.emplace_back();
    out.name = asked.name;
    const image::Topic* topic = context.image.topics.by_name(asked.name);
    for (const auto& wanted : asked.partitions) {
      const auto change = [&]() -> Changed {
        if (topic == nullptr) return fail(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named {}.", asked.name);
        const image::Partition* partition = topic->partition(wanted.partition_index);
        if (partition == nullptr) return fail(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition {}:{}.", asked.name, wanted.partition_index);
        const PartitionKey key{topic->id, wanted.partition_index};
        const PartitionState now = partition->state();
        return wanted.replicas ? reassign(context, *topic, key, now, *wanted.replicas, request.allow_replication_factor_change) : cancel(context, *topic, key, now);
      };
      Changed record = change();
      if (record && *record && result.records.size() == records_per_request_max) record = unexpected(error_of(ErrorCode::POLICY_VIOLATION));
      auto& partition_out = out.partitions.emplace_back();
      partition_out.partition_index = wanted.partition_index;
      partition_out.error_message.reset();
      if (!record) {
        partition_out.error_code = number(record.error().code);
        partition_out.error_message = record.error().message;
      } else if (*record) {
        result.records.push_back(std::move(**record));
      }
    }
  }
  result.reply = Reply::of(std::move(response));
  return result;
}

ControllerResult list_partition_reassignments(const Context& context, const wire::ListPartitionReassignmentsRequest& request) {
  wire::ListPartitionReassignmentsResponse response;
  response.error_message.reset();
  const auto plain = [](std::span<const NodeId> nodes) {
    std::vector<int32_t> ids;
    for (NodeId node : nodes) ids.push_back(node.value);
    return ids;
  };
  const auto list = [&](const image::Topic& topic, const std::vector<int32_t>& indexes) {
    wire::ListPartitionReassignmentsResponse::OngoingTopicReassignment out;
    out.name = topic.name;
    for (int32_t index : indexes) {
      const image::Partition* partition = topic.partition(index);
      if (partition == nullptr || !partition->is_reassigning()) continue;
      auto& ongoing = out.partitions.emplace_back();
      ongoing.partition_index = index;
      ongoing.replicas = plain(partition->replicas());
      ongoing.adding_replicas = plain(partition->adding());
      ongoing.removing_replicas = plain(partition->removing());
    }
    if (!out.partitions.empty()) response.topics.push_back(std::move(out));
  };
  if (request.topics) {
    for (const auto& asked : *request.topics) {
      if (const image::Topic* topic = context.image.topics.by_name(asked.name)) list(*topic, asked.partition_indexes);
    }
  } else {
    std::map<TopicId, std::vector<int32_t>> all;
    for (const auto& [key, nothing] : context.image.topics.reassigning) all[key.topic].push_back(key.partition);
    for (const auto& [id, indexes] : all) list(*context.image.topics.topic(id), indexes);
  }
  return {.reply = Reply::of(std::move(response))};
}

}  // namespace castellan::controller

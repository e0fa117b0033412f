// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/alter_partition.h"

#include <algorithm>
#include <set>

#include "controller/brokers.h"
#include "controller/new_partitions.h"
#include "controller/replicas.h"
#include "image/apply.h"
#include "wire/messages/alter_partition_request.h"
#include "wire/messages/alter_partition_response.h"
#include "wire/messages/assign_replicas_to_dirs_request.h"
#include "wire/messages/assign_replicas_to_dirs_response.h"

namespace castellan::controller {

namespace {

using Wanted = wire::AlterPartitionRequest::PartitionData;
using image::LeaderRecoveryState;

// Version 2 names members without their epochs: unchecked.
std::vector<wire::AlterPartitionRequest::BrokerState> members_of(const Wanted& wanted, int16_t version) {
  if (version >= 3) return wanted.new_isr_with_epochs;
  std::vector<wire::AlterPartitionRequest::BrokerState> members;
  for (int32_t id : wanted.new_isr) members.emplace_back().broker_id = id;
  return members;
}

bool eligible(const Image& image, const wire::AlterPartitionRequest::BrokerState& member) {
  const image::BrokerRegistration* broker = image.cluster.broker(NodeId(member.broker_id));
  return broker != nullptr && broker->active() && (member.broker_epoch == -1 || broker->epoch.value == member.broker_epoch);
}

// In Kafka's order, since the first one that holds is what the leader acts on (C105).
ErrorCode check(const Context& context, NodeId sender, const image::Partition* partition, const Wanted& wanted,
                const std::vector<wire::AlterPartitionRequest::BrokerState>& members) {
  if (partition == nullptr) return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  // The leader knows more than we do: we are no longer the active controller.
  if (wanted.leader_epoch > partition->leader_epoch().value || wanted.partition_epoch > partition->partition_epoch()) return ErrorCode::NOT_CONTROLLER;
  if (wanted.leader_epoch < partition->leader_epoch().value) return ErrorCode::FENCED_LEADER_EPOCH;
  if (sender != partition->leader()) return ErrorCode::INVALID_REQUEST;
  if (wanted.partition_epoch < partition->partition_epoch()) return ErrorCode::INVALID_UPDATE_VERSION;
  std::set<int32_t> seen;
  for (const auto& member : members) {
    if (!seen.insert(member.broker_id).second || !image::contains(partition->replicas(), NodeId(member.broker_id))) return ErrorCode::INVALID_REQUEST;
  }
  if (!seen.contains(sender.value)) return ErrorCode::INVALID_REQUEST;
  if (wanted.leader_recovery_state < 0 || wanted.leader_recovery_state > 1) return ErrorCode::INVALID_REQUEST;
  const auto recovery = static_cast<LeaderRecoveryState>(wanted.leader_recovery_state);
  if (recovery == LeaderRecoveryState::RECOVERING && members.size() > 1) return ErrorCode::INVALID_REQUEST;
  if (recovery == LeaderRecoveryState::RECOVERING && partition->recovery() == LeaderRecoveryState::RECOVERED) return ErrorCode::INVALID_REQUEST;
  for (const auto& member : members) {
    if (!eligible(context.image, member)) return ErrorCode::INELIGIBLE_REPLICA;
  }
  return ErrorCode::NONE;
}

wire::AlterPartitionResponse::PartitionData alter_one(const Context& context, NodeId sender, const image::Topic& topic, const Wanted& wanted, int16_t version,
                                                      ControllerResult& result) {
  wire::AlterPartitionResponse::PartitionData out;
  out.partition_index = wanted.partition_index;
  const image::Partition* partition = topic.partition(wanted.partition_index);
  const auto members = members_of(wanted, version);
  const ErrorCode code = check(context, sender, partition, wanted, members);
  if (code != ErrorCode::NONE) {
    out.error_code = number(code);
    if (code == ErrorCode::INVALID_REQUEST || code == ErrorCode::INELIGIBLE_REPLICA) {
      result.notes.push_back(fmt::format("AlterPartition of broker {} for {}-{} is refused: {}", sender, topic.name, wanted.partition_index, error_name(code)));
    }
    return out;
  }
  const PartitionKey key{topic.id, wanted.partition_index};
  PartitionState state = partition->state();
  PartitionTarget target(state);
  target.isr.clear();
  for (const auto& member : members) target.isr.emplace_back(member.broker_id);
  target.recovery = static_cast<LeaderRecoveryState>(wanted.leader_recovery_state);
  if (unclean_election_enabled(context, topic.name)) target.election = Election::UNCLEAN;
  const PartitionRules rules = rules_for(context, topic, state);
  if (auto record = change_partition(key, state, std::move(target), rules)) {
    const auto& change = std::get<wire::PartitionChangeRecord>(record->message);
    const bool other_leader = change.leader != -2 && change.leader != sender.value;
    PartitionState after = image::merge(state, change);
    result.records.push_back(std::move(*record));
    if (other_leader) {  // a reassignment was completed, and the sender is no longer part of it
      out.error_code = number(ErrorCode::NEW_LEADER_ELECTED);
      return out;
    }
    state = std::move(after);
  }
  out.leader_id = state.leader.value;
  out.leader_epoch = state.leader_epoch.value;
  for (NodeId id : state.isr) out.isr.push_back(id.value);
  out.leader_recovery_state = static_cast<int8_t>(state.recovery);
  out.partition_epoch = state.partition_epoch;
  return out;
}

}  // namespace

ControllerResult alter_partition(const Context& context, const wire::AlterPartitionRequest& request, int16_t version) {
  ControllerResult result;
  wire::AlterPartitionResponse response;
  if (const auto broker = broker_at_epoch(context.image, request.broker_id, request.broker_epoch); !broker) {
    response.error_code = number(broker.error().code);
    result.reply = Reply::of(std::move(response));
    return result;
  }
  for (const auto& topic : request.topics) {
    auto& out = response.topics.emplace_back();
    out.topic_id = topic.topic_id;
    const image::Topic* known = context.image.topics.topic(TopicId(topic.topic_id));
    for (const auto& partition : topic.partitions) {
      if (known != nullptr) {
        out.partitions.push_back(alter_one(context, NodeId(request.broker_id), *known, partition, version, result));
      } else {
        auto& unknown = out.partitions.emplace_back();
        unknown.partition_index = partition.partition_index;
        unknown.error_code = number(ErrorCode::UNKNOWN_TOPIC_ID);
      }
    }
  }
  result.reply = Reply::of(std::move(response));
  return result;
}

ControllerResult assign_replicas_to_dirs(const Context& context, const wire::AssignReplicasToDirsRequest& request) {
  ControllerResult result;
  wire::AssignReplicasToDirsResponse response;
  const auto refused = [&](ErrorCode code) {
    response.error_code = number(code);
    result.reply = Reply::of(std::move(response));
    return std::move(result);
  };
  if (!context.metadata_version().directory_assignment_supported()) return refused(ErrorCode::UNSUPPORTED_VERSION);
  const auto broker = broker_at_epoch(context.image, request.broker_id, request.broker_epoch);
  if (!broker) return refused(broker.error().code);
  const NodeId id(request.broker_id);
  std::vector<PartitionKey> went_offline;
  for (const auto& directory : request.directories) {
    auto& directory_out = response.directories.emplace_back();
    directory_out.id = directory.id;
    const bool online = (*broker)->has_online_directory(DirectoryId(directory.id));
    for (const auto& topic : directory.topics) {
      auto& topic_out = directory_out.topics.emplace_back();
      topic_out.topic_id = topic.topic_id;
      const image::Topic* known = context.image.topics.topic(TopicId(topic.topic_id));
      for (const auto& wanted : topic.partitions) {
        auto& out = topic_out.partitions.emplace_back();
        out.partition_index = wanted.partition_index;
        const image::Partition* partition = known == nullptr ? nullptr : known->partition(wanted.partition_index);
        if (known == nullptr) out.error_code = number(ErrorCode::UNKNOWN_TOPIC_ID);
        else if (partition == nullptr) out.error_code = number(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        else if (!image::contains(partition->replicas(), id)) out.error_code = number(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        if (out.error_code != 0) continue;
        const PartitionKey key{known->id, wanted.partition_index};
        const PartitionState state = partition->state();
        PartitionTarget target(state);
        target.directories[id] = DirectoryId(directory.id);
        if (auto record = change_partition(key, state, std::move(target), rules_for(context, *known, state))) result.records.push_back(std::move(*record));
        if (!online) went_offline.push_back(key);
      }
    }
  }
  std::ranges::sort(went_offline);
  went_offline.erase(std::ranges::unique(went_offline).begin(), went_offline.end());
  append_leader_and_isr_changes(context, went_offline, {.removed = id}, result.records);
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace castellan::controller

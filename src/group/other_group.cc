// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/other_group.h"

#include <algorithm>

#include "wire/codec.h"
#include "wire/messages/consumer_group_current_member_assignment_value.h"
#include "wire/messages/consumer_group_member_metadata_value.h"
#include "wire/messages/consumer_group_metadata_value.h"
#include "wire/messages/consumer_group_regular_expression_value.h"
#include "wire/messages/consumer_group_target_assignment_metadata_value.h"
#include "wire/messages/share_group_current_member_assignment_value.h"
#include "wire/messages/share_group_member_metadata_value.h"
#include "wire/messages/share_group_metadata_value.h"
#include "wire/messages/share_group_state_partition_metadata_value.h"
#include "wire/messages/share_group_target_assignment_metadata_value.h"
#include "wire/messages/streams_group_current_member_assignment_value.h"
#include "wire/messages/streams_group_metadata_value.h"
#include "wire/messages/streams_group_target_assignment_metadata_value.h"
#include "wire/messages/streams_group_topology_value.h"

namespace castellan::group {

namespace {

constexpr int8_t member_stable_consumer = 0;  // MemberState of consumer and share groups
constexpr int8_t member_stable_streams = 1;

template <class M>
Result<M> value_of(BytesView value) {
  if (value.size() < 2) return fail(ErrorCode::CORRUPT_MESSAGE, "{} of {} bytes has no version", M::info().name, value.size());
  return wire::decode_exactly<M>(load_big_endian<int16_t>(value.data()), value.subspan(2));
}

}  // namespace

std::string_view type_name(GroupType type) {
  switch (type) {
    case GroupType::CLASSIC: return "classic";
    case GroupType::CONSUMER: return "consumer";
    case GroupType::SHARE: return "share";
    case GroupType::STREAMS: return "streams";
  }
  return "unknown";
}

GroupType group_type(RecordType type) {
  const auto number = static_cast<int16_t>(type);
  if (number <= 2) return GroupType::CLASSIC;
  if (number <= 8 || type == RecordType::CONSUMER_GROUP_REGULAR_EXPRESSION) return GroupType::CONSUMER;
  return number <= 15 ? GroupType::SHARE : GroupType::STREAMS;
}

std::string_view OtherGroup::state() const {
  if (members_.empty()) return "Empty";
  if (type_ == GroupType::SHARE) return "Stable";
  if (type_ == GroupType::STREAMS && (topology_epoch_ < 0 || topology_epoch_ != validated_topology_epoch_)) return "NotReady";
  if (epoch_ > assignment_epoch_) return "Assigning";
  const int8_t stable = type_ == GroupType::STREAMS ? member_stable_streams : member_stable_consumer;
  const bool reconciled = std::ranges::all_of(
      members_, [&](const auto& entry) { return entry.second.epoch == assignment_epoch_ && entry.second.state == stable; });
  return reconciled ? "Stable" : "Reconciling";
}

bool OtherGroup::is_subscribed_to(const std::string& topic) const {
  if (members_.empty()) return false;
  if (topology_topics_.contains(topic)) return true;
  const auto names_topic = [&](const auto& entry) {
    if constexpr (requires { entry.second.topics; }) return std::ranges::find(entry.second.topics, topic) != entry.second.topics.end();
    else return std::ranges::find(entry.second, topic) != entry.second.end();
  };
  return std::ranges::any_of(members_, names_topic) || std::ranges::any_of(expressions_, names_topic);
}

ErrorCode OtherGroup::validate_member(const std::string& member, int32_t epoch) const {
  const auto found = members_.find(member);
  if (found == members_.end()) return ErrorCode::UNKNOWN_MEMBER_ID;
  if (found->second.epoch == epoch) return ErrorCode::NONE;
  return found->second.uses_classic_protocol ? ErrorCode::ILLEGAL_GENERATION : ErrorCode::STALE_MEMBER_EPOCH;
}

bool OtherGroup::member_uses_classic_protocol(const std::string& member) const {
  const auto found = members_.find(member);
  return found != members_.end() && found->second.uses_classic_protocol;
}

Result<void> OtherGroup::apply(RecordType type, const std::string& member, const Record& record) {
  if (record.value) {
    TRY_VOID(apply_value(type, member, *record.value));
    keys_[{type, member}] = record.key;
  } else {
    apply_tombstone(type, member);
    keys_.erase({type, member});
  }
  return {};
}

Result<void> OtherGroup::apply_value(RecordType type, const std::string& member, BytesView value) {
  switch (type) {
    case RecordType::CONSUMER_GROUP_METADATA: {
      TRY(const auto message, value_of<wire::ConsumerGroupMetadataValue>(value));
      epoch_ = message.epoch;
      return {};
    }
    case RecordType::SHARE_GROUP_METADATA: {
      TRY(const auto message, value_of<wire::ShareGroupMetadataValue>(value));
      epoch_ = message.epoch;
      return {};
    }
    case RecordType::STREAMS_GROUP_METADATA: {
      TRY(const auto message, value_of<wire::StreamsGroupMetadataValue>(value));
      epoch_ = message.epoch;
      validated_topology_epoch_ = message.validated_topology_epoch;
      return {};
    }
    case RecordType::CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: {
      TRY(const auto message, value_of<wire::ConsumerGroupTargetAssignmentMetadataValue>(value));
      assignment_epoch_ = message.assignment_epoch;
      return {};
    }
    case RecordType::SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: {
      TRY(const auto message, value_of<wire::ShareGroupTargetAssignmentMetadataValue>(value));
      assignment_epoch_ = message.assignment_epoch;
      return {};
    }
    case RecordType::STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: {
      TRY(const auto message, value_of<wire::StreamsGroupTargetAssignmentMetadataValue>(value));
      assignment_epoch_ = message.assignment_epoch;
      return {};
    }
    case RecordType::CONSUMER_GROUP_MEMBER_METADATA: {
      TRY(auto message, value_of<wire::ConsumerGroupMemberMetadataValue>(value));
      Member& entry = members_[member];
      entry.has_metadata = true;
      entry.topics = std::move(message.subscribed_topic_names);
      entry.uses_classic_protocol = message.classic_member_metadata.has_value();
      return {};
    }
    case RecordType::SHARE_GROUP_MEMBER_METADATA: {
      TRY(auto message, value_of<wire::ShareGroupMemberMetadataValue>(value));
      Member& entry = members_[member];
      entry.has_metadata = true;
      entry.topics = std::move(message.subscribed_topic_names);
      return {};
    }
    case RecordType::STREAMS_GROUP_MEMBER_METADATA: members_[member].has_metadata = true; return {};
    case RecordType::CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: {
      TRY(const auto message, value_of<wire::ConsumerGroupCurrentMemberAssignmentValue>(value));
      Member& entry = members_[member];
      entry.has_assignment = true;
      entry.epoch = message.member_epoch;
      entry.state = message.state;
      return {};
    }
    case RecordType::SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: {
      TRY(const auto message, value_of<wire::ShareGroupCurrentMemberAssignmentValue>(value));
      Member& entry = members_[member];
      entry.has_assignment = true;
      entry.epoch = message.member_epoch;
      entry.state = message.state;
      return {};
    }
    case RecordType::STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: {
      TRY(const auto message, value_of<wire::StreamsGroupCurrentMemberAssignmentValue>(value));
      Member& entry = members_[member];
      entry.has_assignment = true;
      entry.epoch = message.member_epoch;
      entry.state = message.state;
      return {};
    }
    case RecordType::CONSUMER_GROUP_REGULAR_EXPRESSION: {
      TRY(auto message, value_of<wire::ConsumerGroupRegularExpressionValue>(value));
      expressions_[member] = std::move(message.topics);
      return {};
    }
    case RecordType::SHARE_GROUP_STATE_PARTITION_METADATA: {
      TRY(const auto message, value_of<wire::ShareGroupStatePartitionMetadataValue>(value));
      has_share_state_ = !message.initializing_topics.empty() || !message.initialized_topics.empty() || !message.deleting_topics.empty();
      return {};
    }
    case RecordType::STREAMS_GROUP_TOPOLOGY: {
      TRY(const auto message, value_of<wire::StreamsGroupTopologyValue>(value));
      topology_epoch_ = message.epoch;
      topology_topics_.clear();
      for (const auto& subtopology : message.subtopologies) {
        topology_topics_.insert(subtopology.source_topics.begin(), subtopology.source_topics.end());
        for (const auto& topic : subtopology.repartition_source_topics) topology_topics_.insert(topic.name);
      }
      return {};
    }
    default: return {};  // assignments of single members, and what older versions kept: only their keys matter
  }
}

void OtherGroup::apply_tombstone(RecordType type, const std::string& member) {
  const auto drop = [&](bool Member::*part) {
    const auto found = members_.find(member);
    if (found == members_.end()) return;
    found->second.*part = false;
    if (!found->second.has_metadata && !found->second.has_assignment) members_.erase(found);
  };
  switch (type) {
    case RecordType::CONSUMER_GROUP_MEMBER_METADATA:
    case RecordType::SHARE_GROUP_MEMBER_METADATA:
    case RecordType::STREAMS_GROUP_MEMBER_METADATA: drop(&Member::has_metadata); break;
    case RecordType::CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
    case RecordType::SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT:
    case RecordType::STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: drop(&Member::has_assignment); break;
    case RecordType::CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
    case RecordType::SHARE_GROUP_TARGET_ASSIGNMENT_METADATA:
    case RecordType::STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: assignment_epoch_ = -1; break;
    case RecordType::CONSUMER_GROUP_REGULAR_EXPRESSION: expressions_.erase(member); break;
    case RecordType::SHARE_GROUP_STATE_PARTITION_METADATA: has_share_state_ = false; break;
    case RecordType::STREAMS_GROUP_TOPOLOGY:
      topology_epoch_ = -1;
      topology_topics_.clear();
      break;
    default: break;
  }
}

std::vector<Record> OtherGroup::remove_members() {
  std::vector<Record> records;
  const auto keys = keys_;
  // Readers expect a member's current assignment to go before its target and its metadata: higher types first.
  for (auto at = keys.rbegin(); at != keys.rend(); ++at) {
    const auto& [type, member] = at->first;
    if (member.empty()) continue;  // the group's own
    records.push_back({at->second, std::nullopt});
    apply_tombstone(type, member);
    keys_.erase(at->first);
  }
  return records;
}

std::vector<Record> OtherGroup::tombstones() const {
  const auto is_own = [](RecordType type) {
    return type == RecordType::CONSUMER_GROUP_METADATA || type == RecordType::SHARE_GROUP_METADATA || type == RecordType::STREAMS_GROUP_METADATA;
  };
  // Readers expect a member's current assignment to go before its target and its metadata: higher types first.
  std::vector<Record> records;
  for (auto at = keys_.rbegin(); at != keys_.rend(); ++at)
    if (!is_own(at->first.first)) records.push_back({at->second, std::nullopt});
  for (const auto& [name, key] : keys_)
    if (is_own(name.first)) records.push_back({key, std::nullopt});
  return records;
}

}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What goes by itself: offsets that are older than the retention, groups without members and offsets, the members of groups
// whose protocol is not served here, and the offsets of deleted topics (B361, B364).
#include <algorithm>

#include "group/shard.h"

namespace castellan::group {

namespace {

// One batch holds about this many tombstones; a group's own come together.
constexpr size_t records_per_operation = 1'000;

// The time from which the retention of an offset counts, none when it does not run now.
std::optional<int64_t> retention_start(const Group& any, const OffsetAndMetadata& value) {
  const auto* classic = std::get_if<ClassicGroup>(&any);
  if (!classic) return value.commit_timestamp;  // of whatever its members are not subscribed to
  const ClassicGroup& group = *classic;
  if (!group.protocol_type()) return value.commit_timestamp;  // commits of a consumer that is in no group
  if (group.is(ClassicState::EMPTY)) return group.state_timestamp() >= 0 ? group.state_timestamp() : value.commit_timestamp;
  if (group.uses_consumer_protocol() && group.subscribed_topics() && group.is(ClassicState::STABLE)) return value.commit_timestamp;
  return std::nullopt;
}

}  // namespace

void Shard::on_retention_check() {
  schedule(TimerKey::Kind::RETENTION, "", "", std::max<int64_t>(configuration_.retention_check_interval.count(), 1));
  std::vector<std::string> ids;
  for (const auto& [id, group] : state_.groups())
    if (const OtherGroup* other = as_other(group); !other || other->type() != GroupType::SHARE) ids.push_back(id);  // those have no offsets here
  Operation operation;
  for (const std::string& id : ids) {
    const GroupPointer group = state_.find(id);
    const ClassicGroup* classic = as_classic(group);
    const OtherGroup* other = as_other(group);
    std::vector<OffsetKey> expired;
    bool all_expired = true;
    if (const TopicOffsets* offsets = state_.offsets().find_group(id)) {
      for (const auto& [topic, partitions] : *offsets) {
        const bool subscribed = classic ? classic->is_subscribed_to(topic) : other->is_subscribed_to(topic);
        for (const auto& [partition, value] : partitions) {
          const auto start = retention_start(*group, value);
          const bool is_old = value.expire_timestamp >= 0 ? wall_ms() >= value.expire_timestamp
                                                          : start && wall_ms() - *start >= configuration_.offsets_retention.count();
          OffsetKey key{id, topic, partition};
          if (start && is_old && !subscribed && !state_.offsets().has_pending(key)) expired.push_back(std::move(key));
          else all_expired = false;
        }
      }
    }
    for (const OffsetKey& key : expired) {
      operation.records.push_back(offset_tombstone(key));
      state_.remove_offset(key, operation.journal);
    }
    const bool empty = classic ? classic->is(ClassicState::EMPTY) : !other->has_members();
    if (all_expired && empty && !state_.offsets().has_pending_in_group(id)) remove_group(id, operation);
    if (operation.records.size() >= records_per_operation) write(std::exchange(operation, {}), std::nullopt);
  }
  write(std::move(operation), std::nullopt);
}

void Shard::schedule_other_members(const OtherGroup& group) {
  if (!group.has_members()) return;
  const auto timeout = group.type() == GroupType::CONSUMER ? configuration_.consumer_session_timeout
                       : group.type() == GroupType::SHARE  ? configuration_.share_session_timeout
                                                           : configuration_.streams_session_timeout;
  schedule(TimerKey::Kind::OTHER_MEMBERS, group.id(), "", timeout.count());
}

void Shard::on_other_members_timeout(const std::string& id) {
  const OtherGroup* group = as_other(state_.find(id));
  if (!group) return;
  schedule_other_members(*group);  // again, should the write fail
  OtherGroup left = *group;
  Operation operation;
  operation.records = left.remove_members();
  if (operation.records.empty()) return;
  state_.set_group(id, std::make_shared<Group>(std::move(left)), operation.journal);
  write(std::move(operation), std::nullopt);
}

void Shard::on(const TopicsDeleted& deleted) {
  std::vector<OffsetKey> gone;
  const auto look_at = [&](const OffsetKey& key, const OffsetAndMetadata& value) {
    for (const DeletedTopic& topic : deleted.topics)
      if (topic.name == key.topic && (value.topic_id.is_zero() || value.topic_id == topic.id)) return gone.push_back(key);
  };
  for (const auto& [group, topics] : state_.offsets().all()) {
    for (const DeletedTopic& topic : deleted.topics) {
      const auto found = topics.find(topic.name);
      if (found == topics.end()) continue;
      for (const auto& [partition, value] : found->second) {
        if (value.topic_id.is_zero() || value.topic_id == topic.id) gone.push_back({group, topic.name, partition});
      }
    }
  }
  for (const auto& [producer_id, offsets] : state_.offsets().pending())
    for (const auto& [key, value] : offsets) look_at(key, value);
  Operation operation;
  for (const OffsetKey& key : gone) {
    if (!state_.offsets().find(key) && !state_.offsets().has_pending(key)) continue;  // seen twice
    operation.records.push_back(offset_tombstone(key));
    state_.remove_offset(key, operation.journal);
    if (operation.records.size() >= records_per_operation) write(std::exchange(operation, {}), std::nullopt);
  }
  write(std::move(operation), std::nullopt);
}

}  // namespace castellan::group

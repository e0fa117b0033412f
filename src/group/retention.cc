// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What goes by itself: offsets that are older than the retention, groups without members and offsets, and the offsets of
// deleted topics (B361, B364).
#include <algorithm>

#include "group/shard.h"

namespace castellan::group {

namespace {

// One batch holds about this many tombstones; a group's own come together.
constexpr size_t records_per_operation = 1'000;

// The time from which the retention of an offset counts, none when it does not run now.
std::optional<int64_t> retention_start(const ClassicGroup& group, const OffsetAndMetadata& value) {
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
    if (as_classic(group)) ids.push_back(id);  // groups of other protocols stay as they are
  Operation operation;
  for (const std::string& id : ids) {
    const ClassicGroup& group = *as_classic(state_.find(id));
    std::vector<OffsetKey> expired;
    bool all_expired = true;
    if (const TopicOffsets* offsets = state_.offsets().find_group(id)) {
      for (const auto& [topic, partitions] : *offsets) {
        const bool subscribed = group.is_subscribed_to(topic);
        for (const auto& [partition, value] : partitions) {
          const auto start = retention_start(group, value);
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
    if (all_expired && group.is(ClassicState::EMPTY) && !state_.offsets().has_pending_in_group(id)) remove_group(id, operation);
    if (operation.records.size() >= records_per_operation) write(std::exchange(operation, {}), std::nullopt);
  }
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

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/offsets.h"

namespace castellan::group {

const OffsetAndMetadata* Offsets::find(const OffsetKey& key) const {
  const TopicOffsets* topics = find_group(key.group);
  if (!topics) return nullptr;
  const auto topic = topics->find(key.topic);
  if (topic == topics->end()) return nullptr;
  const auto partition = topic->second.find(key.partition);
  return partition == topic->second.end() ? nullptr : &partition->second;
}

const TopicOffsets* Offsets::find_group(const std::string& group) const {
  const auto found = by_group_.find(group);
  return found == by_group_.end() ? nullptr : &found->second;
}

std::optional<OffsetAndMetadata> Offsets::put(const OffsetKey& key, OffsetAndMetadata value) {
  auto [slot, is_new] = by_group_[key.group][key.topic].try_emplace(key.partition);
  std::optional<OffsetAndMetadata> previous;
  if (!is_new) previous = std::move(slot->second);
  slot->second = std::move(value);
  return previous;
}

std::optional<OffsetAndMetadata> Offsets::remove(const OffsetKey& key) {
  const auto group = by_group_.find(key.group);
  if (group == by_group_.end()) return std::nullopt;
  const auto topic = group->second.find(key.topic);
  if (topic == group->second.end()) return std::nullopt;
  const auto partition = topic->second.find(key.partition);
  if (partition == topic->second.end()) return std::nullopt;
  std::optional<OffsetAndMetadata> previous = std::move(partition->second);
  topic->second.erase(partition);
  if (topic->second.empty()) group->second.erase(topic);
  if (group->second.empty()) by_group_.erase(group);
  return previous;
}

void Offsets::put_pending(int64_t producer_id, const OffsetKey& key, OffsetAndMetadata value) {
  pending_[producer_id][key] = std::move(value);
  pending_producers_[key].insert(producer_id);
}

std::vector<Offsets::Pending> Offsets::remove_pending(const OffsetKey& key) {
  std::vector<Pending> removed;
  const auto producers = pending_producers_.find(key);
  if (producers == pending_producers_.end()) return removed;
  for (const int64_t producer_id : producers->second) {
    const auto transaction = pending_.find(producer_id);
    const auto value = transaction->second.find(key);
    removed.push_back({producer_id, std::move(value->second)});
    transaction->second.erase(value);
    if (transaction->second.empty()) pending_.erase(transaction);
  }
  pending_producers_.erase(producers);
  return removed;
}

bool Offsets::has_pending_in_group(const std::string& group) const {
  const auto first = pending_producers_.lower_bound({group, "", INT32_MIN});
  return first != pending_producers_.end() && first->first.group == group;
}

std::vector<OffsetKey> Offsets::pending_keys(const std::string& group) const {
  std::vector<OffsetKey> keys;
  for (auto at = pending_producers_.lower_bound({group, "", INT32_MIN}); at != pending_producers_.end() && at->first.group == group; ++at)
    keys.push_back(at->first);
  return keys;
}

void Offsets::end_transaction(int64_t producer_id, bool commit) {
  const auto transaction = pending_.find(producer_id);
  if (transaction == pending_.end()) return;
  for (auto& [key, value] : transaction->second) {
    const auto producers = pending_producers_.find(key);
    producers->second.erase(producer_id);
    if (producers->second.empty()) pending_producers_.erase(producers);
    if (!commit) continue;
    const OffsetAndMetadata* existing = find(key);
    if (!existing || (existing->record_offset >= 0 && value.record_offset > existing->record_offset)) put(key, std::move(value));
  }
  pending_.erase(transaction);
}

}  // namespace castellan::group

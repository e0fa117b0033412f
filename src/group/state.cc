// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/state.h"

namespace castellan::group {

bool is_empty(const Group& group) {
  if (const auto* classic = std::get_if<ClassicGroup>(&group)) return classic->is(ClassicState::EMPTY);
  return !std::get<OtherGroup>(group).has_members();
}

GroupPointer State::find(const std::string& id) const {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : found->second;
}

void State::set_group(const std::string& id, GroupPointer group, Journal& journal) {
  journal.push_back(GroupChange{id, find(id)});
  if (group) groups_[id] = std::move(group);
  else groups_.erase(id);
}

void State::commit_offset(const OffsetKey& key, OffsetAndMetadata value, Journal& journal) {
  journal.push_back(OffsetChange{key, offsets_.put(key, std::move(value)), {}});
}

void State::remove_offset(const OffsetKey& key, Journal& journal) {
  auto previous = offsets_.remove(key);
  journal.push_back(OffsetChange{key, std::move(previous), offsets_.remove_pending(key)});
}

void State::roll_back(const Journal& journal, std::vector<GroupPointer>& discarded) {
  for (auto change = journal.rbegin(); change != journal.rend(); ++change) {
    if (const auto* offset = std::get_if<OffsetChange>(&*change)) {
      if (offset->previous) offsets_.put(offset->key, *offset->previous);
      else offsets_.remove(offset->key);
      for (const auto& pending : offset->removed_pending) offsets_.put_pending(pending.producer_id, offset->key, pending.value);
    } else {
      const auto& group = std::get<GroupChange>(*change);
      if (GroupPointer now = find(group.id)) discarded.push_back(std::move(now));
      if (group.previous) groups_[group.id] = group.previous;
      else groups_.erase(group.id);
    }
  }
}

CommittedView::CommittedView(const State& state, const std::vector<const Journal*>& uncommitted) : state_(state) {
  for (const Journal* journal : uncommitted) {
    for (const Change& change : *journal) {
      // The oldest change of a thing says what is committed of it: emplace keeps the first.
      if (const auto* offset = std::get_if<OffsetChange>(&change)) offsets_.emplace(offset->key, offset->previous);
      else groups_.emplace(std::get<GroupChange>(change).id, std::get<GroupChange>(change).previous);
    }
  }
}

GroupPointer CommittedView::find(const std::string& id) const {
  const auto changed = groups_.find(id);
  return changed == groups_.end() ? state_.find(id) : changed->second;
}

std::map<std::string, GroupPointer> CommittedView::groups() const {
  auto groups = state_.groups();
  for (const auto& [id, group] : groups_) {
    if (group) groups[id] = group;
    else groups.erase(id);
  }
  return groups;
}

std::optional<OffsetAndMetadata> CommittedView::offset(const OffsetKey& key) const {
  if (const auto changed = offsets_.find(key); changed != offsets_.end()) return changed->second;
  const OffsetAndMetadata* value = state_.offsets().find(key);
  return value ? std::optional(*value) : std::nullopt;
}

TopicOffsets CommittedView::offsets_of(const std::string& group) const {
  TopicOffsets offsets;
  if (const TopicOffsets* now = state_.offsets().find_group(group)) offsets = *now;
  for (auto at = offsets_.lower_bound({group, "", INT32_MIN}); at != offsets_.end() && at->first.group == group; ++at) {
    const auto& [key, value] = *at;
    if (value) {
      offsets[key.topic][key.partition] = *value;
    } else if (const auto topic = offsets.find(key.topic); topic != offsets.end()) {
      topic->second.erase(key.partition);
      if (topic->second.empty()) offsets.erase(topic);
    }
  }
  return offsets;
}

}  // namespace castellan::group

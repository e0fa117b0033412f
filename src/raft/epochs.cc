// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/epochs.h"

#include <algorithm>

namespace castellan::raft {

std::optional<EpochTable::Entry> EpochTable::last() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.back();
}

void EpochTable::assign(Epoch epoch, Offset start) {
  if (!entries_.empty() && entries_.back().epoch == epoch && entries_.back().start <= start) return;
  std::erase_if(entries_, [&](const Entry& entry) { return entry.epoch >= epoch || entry.start >= start; });
  entries_.push_back({epoch, start});
}

LogPosition EpochTable::end_of(Epoch epoch, Offset log_end) const {
  if (entries_.empty()) return {log_end, Epoch{0}};
  const auto after = std::ranges::upper_bound(entries_, epoch, {}, &Entry::epoch);
  if (after == entries_.begin()) return {after->start, epoch};
  return {after == entries_.end() ? log_end : after->start, std::prev(after)->epoch};
}

std::optional<Epoch> EpochTable::epoch_at(Offset offset) const {
  const auto after = std::ranges::upper_bound(entries_, offset, {}, &Entry::start);
  if (after == entries_.begin()) return std::nullopt;
  return std::prev(after)->epoch;
}

void EpochTable::truncate_to(Offset end) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.start >= end; });
}

void EpochTable::forget_before(Offset start) {
  // The epoch that reaches over `start` stays and starts there.
  auto after = std::ranges::upper_bound(entries_, start, {}, &Entry::start);
  if (after == entries_.begin()) return;
  const Entry reaching{std::prev(after)->epoch, start};
  entries_.erase(entries_.begin(), after);
  entries_.insert(entries_.begin(), reaching);
}

}  // namespace castellan::raft

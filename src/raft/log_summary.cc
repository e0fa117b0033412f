// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/log_summary.h"

#include <algorithm>

#include "base/check.h"

namespace castellan::raft {

std::optional<SnapshotId> LogSummary::latest_snapshot() const {
  if (snapshots.empty()) return std::nullopt;
  return *snapshots.rbegin();
}

std::optional<SnapshotId> LogSummary::earliest_snapshot() const {
  if (snapshots.empty()) return std::nullopt;
  return *snapshots.begin();
}

Epoch LogSummary::last_epoch() const {
  if (const auto entry = epochs.last()) return entry->epoch;
  if (const auto snapshot = latest_snapshot(); snapshot && snapshot->offset == end && start == end) return snapshot->epoch;
  return Epoch{0};
}

LogPosition LogSummary::end_of(Epoch epoch) const {
  if (epochs.empty() || epoch > epochs.last()->epoch) return last();
  LogPosition found = epochs.end_of(epoch, end);
  // The epoch before the first one that the log has may be the one that the oldest snapshot ends with.
  if (const auto oldest = earliest_snapshot(); oldest && oldest->offset == found.offset && oldest->epoch == epoch) return *oldest;
  return found;
}

LogSummary::Verdict LogSummary::judge(LogPosition position) const {
  const auto latest = latest_snapshot();
  if (position.offset.value == 0 && latest && *latest != bootstrap_snapshot) return NeedsSnapshot{*latest};
  if (position.offset.value == 0 && start.value == 0) return Valid{};
  if (const auto oldest = earliest_snapshot()) {
    const bool below = position.offset < start || (position.offset == start && position.epoch != oldest->epoch) ||
                       position.epoch < oldest->epoch;
    if (below && *latest != bootstrap_snapshot) return NeedsSnapshot{*latest};
  }
  const LogPosition found = end_of(position.epoch);
  if (found.epoch != position.epoch || found.offset < position.offset) return Diverging{found};
  return Valid{};
}

void LogSummary::append(Epoch epoch, Offset base, Offset end_after) {
  CHECK(base == end && end_after > base, "append of [{}, {}) to a log that ends at {}", base, end_after, end);
  CHECK(epoch >= last_epoch(), "append in epoch {} after {}", epoch, last_epoch());
  epochs.assign(epoch, base);
  end = end_after;
}

void LogSummary::truncate_to(Offset offset) {
  CHECK(offset >= start, "truncation to {} below the start {}", offset, start);
  end = std::min(end, offset);
  synced_end = std::min(synced_end, end);
  epochs.truncate_to(offset);
}

void LogSummary::restart_at(SnapshotId snapshot) {
  start = end = synced_end = snapshot.offset;
  epochs.clear();
  snapshots.insert(snapshot);
  std::erase_if(snapshots, [&](const SnapshotId& id) { return id.offset < snapshot.offset; });
}

void LogSummary::advance_start(Offset offset) {
  CHECK(offset >= start && offset <= synced_end, "new start {} is not in [{}, {}]", offset, start, synced_end);
  start = offset;
  epochs.forget_before(offset);
  std::erase_if(snapshots, [&](const SnapshotId& id) { return id.offset < offset; });
}

}  // namespace castellan::raft

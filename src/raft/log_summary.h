// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the core knows of the log: its ends, its epochs and its snapshots, never its records. The shell keeps the log
// itself and does what the core's actions say, so the two agree after every step.

#pragma once

#include <optional>
#include <set>
#include <variant>

#include "raft/epochs.h"

namespace castellan::raft {

class LogSummary {
 public:
  Offset start;
  Offset end;
  Offset synced_end;  // Invariant: start <= synced_end <= end
  EpochTable epochs;
  std::set<SnapshotId> snapshots;

  // The epoch of the last record, or of the snapshot that replaces it; 0 for an empty log.
  Epoch last_epoch() const;
  LogPosition last() const { return {end, last_epoch()}; }
  std::optional<SnapshotId> latest_snapshot() const;
  std::optional<SnapshotId> earliest_snapshot() const;

  // Where `epoch` ends here; above all known epochs that is the end of the log.
  LogPosition end_of(Epoch epoch) const;

  // What a leader tells a follower that is at `position`.
  struct Valid {};
  struct Diverging { LogPosition end; };
  struct NeedsSnapshot { SnapshotId id; };
  using Verdict = std::variant<Valid, Diverging, NeedsSnapshot>;
  Verdict judge(LogPosition position) const;

  void append(Epoch epoch, Offset base, Offset end_after);
  void truncate_to(Offset offset);
  // The log was replaced by a snapshot.
  void restart_at(SnapshotId snapshot);
  // The shell has deleted what lies before `offset`; older snapshots are forgotten too.
  void advance_start(Offset offset);
};

}  // namespace castellan::raft

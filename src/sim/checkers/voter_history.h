// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The voters change one at a time (KIP-853): each set in a log descends from the one before it there by one voter, so that majorities
// overlap, and a leader writes a set only once the one before is committed.

#pragma once

#include <optional>

#include "sim/checkers/committed.h"

namespace castellan::sim {

class VoterHistory {
 public:
  static constexpr std::string_view name = "voter history";
  VoterHistory(Report& report, const Committed& committed) : report_(report), committed_(committed) {}

  // `entries` were written to the log of the node.
  void wrote(const Seen& seen, std::span<const LogEntry> entries);
  // The voters that the node goes by are those of the last record in its log, committed or not.
  void look(const Seen& seen);
  // The voters in force at `offset`, where the log still says so.
  static std::optional<raft::VoterSet> voters_at(const LogMirror& log, int64_t offset);
  int changes() const { return changes_; }

 private:
  void compare(const Seen& seen, int64_t offset, const raft::VoterSet& before, const raft::VoterSet& after);

  Report& report_;
  const Committed& committed_;
  int changes_ = 0;
};

}  // namespace castellan::sim

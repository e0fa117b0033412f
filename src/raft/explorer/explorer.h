// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Exhaustive exploration of the real core within small bounds: every order of messages, losses, crashes, timeouts, disk work and voter
// changes (world.h), depth first, each state once, known by its digest.
//
//   const Exploration seen = explore({.epochs = 2, .crashes = 1});
//   seen.violation, seen.trace   // the first breach found, and the events that lead to it
//
// What is cut: states beyond the bounds, and time itself: a timer ends at any moment after it was set (state_access.h). Snapshots are
// not explored. Uses the process's CHECK hook while it runs, so one exploration at a time.

#pragma once

#include "raft/explorer/world.h"

namespace castellan::raft {

struct Exploration {
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint64_t beyond = 0;     // states that lie outside the bounds and were not gone into
  size_t depth = 0;        // events in the longest run
  bool complete = true;    // false when `states_max` ended it
  std::string violation;   // empty: none
  std::vector<std::string> trace;
};

Exploration explore(const Bounds& bounds, uint64_t states_max = UINT64_MAX);

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One node after something happened to it, as the checkers look at it.

#pragma once

#include "raft/core.h"
#include "sim/checkers/log_mirror.h"

namespace castellan::sim {

struct Seen {
  int node = 0;
  int life = 0;  // counts its starts
  const raft::Core& core;
  const LogMirror& log;
  Offset committed{-1};     // what it has announced
  bool was_leader = false;  // of this epoch, before what happened last: one step may commit and resign

  raft::ReplicaKey key() const { return core.self(); }
  // Leads, or did so when the last thing happened to it.
  bool led() const { return leads() || was_leader; }
  const raft::Leader* leads() const { return std::get_if<raft::Leader>(&core.role()); }
};

}  // namespace castellan::sim

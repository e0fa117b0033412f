// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What only rises: a node's epoch, also across its restarts once it has told it to somebody; the offset up to which it takes the log
// for committed, while it lives.

#pragma once

#include <map>

#include "sim/checkers/report.h"
#include "sim/checkers/seen.h"

namespace castellan::sim {

class Monotone {
 public:
  static constexpr std::string_view name = "monotone epoch and high watermark";
  explicit Monotone(Report& report) : report_(report) {}

  void look(const Seen& seen);
  // The replica said `epoch` to another one in a way that binds it: asked for votes, gave one, or led.
  void told(raft::ReplicaKey replica, Epoch epoch);
  // Its disk was taken away.
  void forget(raft::ReplicaKey replica) { told_.erase(replica); }

 private:
  struct Life {
    int life = 0;
    Epoch epoch;
    Offset high_watermark{-1};
  };
  Report& report_;
  std::map<int, Life> lives_;
  std::map<raft::ReplicaKey, Epoch> told_;
};

}  // namespace castellan::sim

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What must hold in a core after every step. Tests and the simulator call it; it knows the core's insides so that no one else has to.

#pragma once

#include <string>

#include "raft/core.h"

namespace castellan::raft {

class Invariants {
 public:
  // CHECKs everything that one core alone can know, and what may not go back since the last call.
  void check(const Core& core);

 private:
  Epoch epoch_;
  Offset committed_{-1};
  std::optional<std::pair<Epoch, NodeId>> leader_;
  std::optional<std::pair<Epoch, ReplicaKey>> voted_;
};

}  // namespace castellan::raft

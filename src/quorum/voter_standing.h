// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a controller is in the voter set, and the line that tells its operator when that is not what a controller is for: it was removed, its disk
// was replaced, or the quorum was recovered without it. Pure.

#pragma once

#include <string>

#include "raft/voters.h"

namespace castellan::quorum {

enum class VoterStanding : uint8_t {
  unknown,          // no voters are known
  voter,
  other_directory,  // the entry of this node's id names another directory: another replica
  none,
};

VoterStanding standing_in(const raft::VoterSet& voters, raft::ReplicaKey self);

// Empty when there is nothing to say.
std::string standing_text(VoterStanding before, VoterStanding now, const raft::VoterSet& voters, raft::ReplicaKey self);

}  // namespace castellan::quorum

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/roles.h"

#include <array>

namespace castellan::raft {

Standing standing_of(const Role& role) {
  constexpr std::array standings{Standing::unattached, Standing::follower, Standing::prospective,
                                 Standing::candidate,  Standing::leader,   Standing::resigned};
  return standings[role.index()];
}

std::string_view name_of(const Role& role) {
  constexpr std::array<std::string_view, 6> names{"Unattached", "Follower", "Prospective", "Candidate", "Leader", "Resigned"};
  return names[role.index()];
}

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Scenario: one controller, clients that create and delete topics, power cuts at any moment that tear what was not synced, and
// disks that refuse. Everything from one seed: the work (quorum/, the code that the server runs), the times, the cuts.

#pragma once

#include <cstdint>
#include <string>

namespace castellan::sim {

struct SoleVoterRun {
  std::string violation;  // empty: none
  int crashes = 0;
  int clean_stops = 0;
  int disk_failures = 0;
  size_t acknowledged = 0;
};

SoleVoterRun run_sole_voter(uint64_t seed);

}  // namespace castellan::sim

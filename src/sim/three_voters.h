// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Scenario: three controllers under clients that write; crashes with torn disks, nodes cut off, lost messages. Then the storm ends, and
// progress is required. The loops of quorum/ are the ones that the server runs.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace castellan::sim {

struct ThreeVotersRun {
  std::string violation;  // empty: none
  int crashes = 0;
  int partitions = 0;
  int epochs = 0;         // with a leader
  size_t acknowledged = 0;
};

ThreeVotersRun run_three_voters(uint64_t seed);

// Crashes the leader of a quiet quorum once; how long until another one is active. Nothing when there is none within a minute.
std::vector<double> failover_times_ms(uint64_t seed, int crashes);

}  // namespace castellan::sim

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/check_quorum.h"

#include <algorithm>

namespace castellan::sim {

void CheckQuorum::look(const Seen& leader, MonotonicTime now, MonotonicTime resumed, Duration fetch_timeout) {
  const MonotonicTime limit{now.nanoseconds - 3 * fetch_timeout.count()};
  if (std::max(elected_[leader.node], resumed) >= limit) return;
  const raft::VoterSet& voters = leader.core.voters();
  const bool is_voter = voters.contains(leader.key());
  size_t heard = is_voter ? 1 : 0;
  for (const auto& [id, voter] : voters) heard += id.value != leader.node && network_.last_fetch(id.value, leader.node) >= limit;
  if (heard < voters.majority()) {
    report_.violate(name, "node {} leads epoch {} and has heard of {} of {} voters for three fetch timeouts", leader.node, leader.core.epoch(), heard, voters.size());
  }
}

}  // namespace castellan::sim

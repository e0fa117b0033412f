// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/one_leader.h"

namespace castellan::sim {

void OneLeader::look(const Seen& seen) {
  const Epoch epoch = seen.core.epoch();
  if (const auto leader = seen.core.leader()) {
    const auto [known, is_new] = leaders_.emplace(epoch, *leader);
    if (known->second != *leader) report_.violate(name, "epoch {}: node {} says that {} leads, {} was the leader", epoch, seen.node, *leader, known->second);
  }
  if (seen.leads()) {
    const auto [known, is_new] = keys_.emplace(epoch, seen.key());
    if (known->second != seen.key()) report_.violate(name, "epoch {}: {} and {} lead", epoch, known->second, seen.key());
  }
}

}  // namespace castellan::sim

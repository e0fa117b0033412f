// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/monotone.h"

#include <algorithm>

namespace castellan::sim {

void Monotone::look(const Seen& seen) {
  Life& last = lives_[seen.node];
  if (last.life != seen.life) last = {.life = seen.life};
  const Epoch epoch = seen.core.epoch();
  const Offset high_watermark = seen.committed;
  if (epoch < last.epoch) report_.violate(name, "node {}: epoch {} after {}", seen.node, epoch, last.epoch);
  if (high_watermark < last.high_watermark) {
    report_.violate(name, "node {}: high watermark {} after {}", seen.node, high_watermark, last.high_watermark);
  }
  if (epoch != last.epoch) {
    const auto promised = told_.find(seen.key());
    if (promised != told_.end() && epoch < promised->second) {
      report_.violate(name, "{} is in epoch {}, and has said before a restart that it is in {}", seen.key(), epoch, promised->second);
    }
  }
  last.epoch = epoch;
  last.high_watermark = std::max(last.high_watermark, high_watermark);
}

void Monotone::told(raft::ReplicaKey replica, Epoch epoch) {
  Epoch& last = told_[replica];
  last = std::max(last, epoch);
}

}  // namespace castellan::sim

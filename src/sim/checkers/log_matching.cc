// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/log_matching.h"

namespace castellan::sim {

void LogMatching::durable(int node, const LogMirror& log, std::span<const LogEntry> entries) {
  for (const LogEntry& entry : entries) {
    const LogEntry* before = &entry == log.entries().data() ? nullptr : &entry - 1;
    if (before && (before->end != entry.base || before->epoch > entry.epoch)) {
      report_.violate(name, "node {}: a batch of epoch {} at offset {} follows one of epoch {} that ends at {}", node, entry.epoch, entry.base, before->epoch, before->end);
    }
    const int32_t epoch_before = before ? before->epoch : -1;
    const auto [found, is_new] = known_.emplace(std::pair(entry.epoch, entry.base), Known{entry.crc, entry.end, epoch_before, node});
    Known& known = found->second;
    if (known.crc != entry.crc || known.end != entry.end) {
      report_.violate(name, "epoch {}, offset {}: nodes {} and {} have different batches", entry.epoch, entry.base, known.node, node);
    }
    if (known.epoch_before < 0) known.epoch_before = epoch_before;
    if (epoch_before >= 0 && known.epoch_before != epoch_before) {
      report_.violate(name, "epoch {}, offset {}: follows epoch {} on node {}, epoch {} on node {}", entry.epoch, entry.base, known.epoch_before, known.node,
                      epoch_before, node);
    }
  }
}

}  // namespace castellan::sim

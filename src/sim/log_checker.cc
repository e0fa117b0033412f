// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/log_checker.h"

#include <fmt/format.h>

#include <set>

#include "raft/control_records.h"

namespace castellan::sim {

std::optional<std::string> check_metadata_log(io::FileSystem& files, const std::string& folder, bool torn_tail) {
  const auto entries = files.list(folder);
  if (!entries) return entries.error().message;
  std::vector<std::string> segments;
  for (const auto& entry : *entries) {
    if (entry.name.ends_with(".log")) segments.push_back(entry.name);
  }
  std::optional<Offset> next;
  Epoch epoch{-1};
  std::set<Epoch> started;
  for (const std::string& name : segments) {
    const bool last = name == segments.back();
    const auto bytes = files.read_file(io::join(folder, name), uint64_t{1} << 30);
    if (!bytes) return bytes.error().message;
    std::optional<std::string> wrong;
    size_t whole = 0;
    const auto scanned = raft::scan_batches(*bytes, [&](const raft::BatchSummary& batch) {
      if (next && batch.base != *next) wrong = fmt::format("{}: offset {} follows {}", name, batch.base, *next);
      if (batch.epoch < epoch) wrong = fmt::format("{}: epoch {} follows {} at offset {}", name, batch.epoch, epoch, batch.base);
      // A log that begins at a snapshot may begin within an epoch.
      const bool within = !next && batch.base.value > 0;
      if (!within && batch.epoch > epoch && !(batch.control && batch.control->leader_change)) {
        wrong = fmt::format("{}: epoch {} begins at offset {} without a leader change", name, batch.epoch, batch.base);
      }
      if (batch.control && batch.control->leader_change && !started.insert(batch.epoch).second) {
        wrong = fmt::format("{}: epoch {} begins again at offset {}", name, batch.epoch, batch.base);
      }
      next = batch.end;
      epoch = batch.epoch;
      whole = batch.position + batch.size;
      return !wrong;
    });
    if (wrong) return wrong;
    if ((!scanned || whole < bytes->size()) && !(last && torn_tail)) return fmt::format("{}: damaged after {} bytes", name, whole);
  }
  return std::nullopt;
}

}  // namespace castellan::sim

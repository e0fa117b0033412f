// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/voter_history.h"

#include "raft/text.h"

namespace castellan::sim {
namespace {

std::optional<std::pair<int64_t, raft::VoterSet>> voters_in(const LogEntry& entry) {
  if (!entry.control) return std::nullopt;
  std::optional<std::pair<int64_t, raft::VoterSet>> found;
  (void)raft::scan_batches(*entry.bytes, [&](const raft::BatchSummary& batch) {
    if (batch.control && batch.control->voters) found = {batch.control->voters_offset->value, *batch.control->voters};
    return true;
  });
  return found;
}

}  // namespace

void VoterHistory::wrote(const Seen& seen, std::span<const LogEntry> entries) {
  for (const LogEntry& entry : entries) {
    const auto after = voters_in(entry);
    if (!after) continue;
    ++changes_;
    for (const LogEntry* earlier = &entry; earlier-- != seen.log.entries().data();) {
      const auto before = voters_in(*earlier);
      if (!before) continue;
      compare(seen, after->first, before->second, after->second);
      if (seen.led() && before->first >= committed_.end()) {
        report_.violate(name, "node {} changes the voters at offset {} while the change at {} is not committed", seen.node, after->first, before->first);
      }
      break;
    }
  }
}

std::optional<raft::VoterSet> VoterHistory::voters_at(const LogMirror& log, int64_t offset) {
  for (const LogEntry* entry = log.entries().data() + log.entries().size(); entry-- != log.entries().data();) {
    if (entry->base > offset) continue;
    if (const auto found = voters_in(*entry); found && found->first <= offset) return found->second;
  }
  return std::nullopt;
}

void VoterHistory::look(const Seen& seen) {
  for (const LogEntry* entry = seen.log.entries().data() + seen.log.entries().size(); entry-- != seen.log.entries().data();) {
    const auto last = voters_in(*entry);
    if (!last) continue;
    if (seen.core.voters() != last->second) {
      report_.violate(name, "node {} goes by the voters {}, and its log says {} at offset {}", seen.node, raft::to_text(seen.core.voters()), raft::to_text(last->second), last->first);
    }
    return;
  }
}

void VoterHistory::compare(const Seen& seen, int64_t offset, const raft::VoterSet& before, const raft::VoterSet& after) {
  int differences = 0;
  for (const auto& [id, voter] : before) {
    const raft::Voter* same = after.find(id);
    // A zero directory becomes known once, when static voters move into the log.
    if (!same || (voter.key.has_directory() && same->key != voter.key)) ++differences;
  }
  for (const auto& [id, voter] : after) {
    if (!before.find(id)) ++differences;
    for (const auto& [listener, endpoint] : voter.endpoints) {
      if (!endpoint.host.starts_with("node")) report_.violate(name, "voter {} at offset {} has the address {}, which nobody has", id, offset, endpoint.host);
    }
  }
  if (after.empty()) report_.violate(name, "no voters at offset {}", offset);
  if (differences > 1) report_.violate(name, "node {}: voters {} follow {} at offset {}", seen.node, raft::to_text(after), raft::to_text(before), offset);
}

}  // namespace castellan::sim

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What must hold after every event of an explored quorum (world.h has the list).

#include <algorithm>

#include "raft/explorer/world.h"

namespace castellan::raft {

void World::after_change(int index, const ExploredNode& before) {
  const ExploredNode& node = *nodes_[static_cast<size_t>(index)];
  const bool new_log = node.log().size() != before.log().size() || (!node.log().empty() && node.log().back() != before.log().back());
  if (new_log) check_logs(index);
  check_voters(node, before);
  for (const auto& [at, end] : std::exchange(commits_now_, {})) check_commit(at, end);
  if (!node.core().is_leader()) return;
  const Epoch epoch = node.core().epoch();
  const auto [leader, is_new] = leaders_.emplace(epoch, node.id());
  if (leader->second != node.id()) throw Violation{fmt::format("epoch {} has leaders {} and {}", epoch, leader->second, node.id())};
  // A leader of an earlier epoch that hears late of its votes has missed something, and will commit nothing.
  const bool later = !committed_.empty() && committed_.back()->epoch < epoch;
  if (is_new && later && chain_at(node.log(), committed_.back()->end) != committed_.back()->chain) {
    throw Violation{fmt::format("node {} leads epoch {} without what was committed up to {}", node.id(), epoch, committed_.back()->end)};
  }
}

void World::check_logs(int index) const {
  const ExploredLog& log = nodes_[static_cast<size_t>(index)]->log();
  for (int other = 0; other < count_; ++other) {
    if (other == index) continue;
    const ExploredLog& theirs = nodes_[static_cast<size_t>(other)]->log();
    // The last place where both have a record of one epoch: up to there they must be equal.
    for (size_t i = std::min(log.size(), theirs.size()); i-- > 0;) {
      const auto at = std::ranges::find(theirs, log[i]->base, [](const auto& batch) { return batch->base; });
      if (at == theirs.end() || (*at)->epoch != log[i]->epoch) continue;
      if ((*at)->chain == log[i]->chain) break;
      throw Violation{fmt::format("nodes {} and {} have different records at offset {} of epoch {}, or before it", index + 1, other + 1, log[i]->base, log[i]->epoch)};
    }
  }
}

void World::check_commit(int index, Offset end) {
  const ExploredNode& node = *nodes_[static_cast<size_t>(index)];
  const auto chain = chain_at(node.log(), end);
  if (!chain) throw Violation{fmt::format("node {} takes offset {} for committed, where no batch of its log ends", node.id(), end)};
  const Offset known = committed_.empty() ? Offset{0} : committed_.back()->end;
  if (end <= known) {
    if (chain_at(committed_, end) != *chain) throw Violation{fmt::format("node {} has committed something else up to {}", node.id(), end)};
    return;
  }
  if (chain_at(node.log(), known) != (committed_.empty() ? Digest{} : committed_.back()->chain)) {
    throw Violation{fmt::format("node {} commits up to {} without what was committed up to {}", node.id(), end, known)};
  }
  size_t synced = 0;
  const VoterSet& voters = node.core().voters();
  for (const auto& [id, voter] : voters) {
    if (index_of(id) >= count_) continue;
    const ExploredNode& replica = *nodes_[static_cast<size_t>(index_of(id))];
    const auto there = chain_at(replica.log(), end);
    const auto on_disk = replica.batches_on_disk();
    synced += there == *chain && on_disk > 0 && replica.log()[on_disk - 1]->end >= end;
  }
  if (synced < voters.size() / 2 + 1) {
    throw Violation{fmt::format("node {} takes offset {} for committed: {} of {} voters have it on disk", node.id(), end, synced, voters.size())};
  }
  committed_.clear();
  for (const auto& batch : node.log()) {
    if (batch->end <= end) committed_.push_back(batch);
  }
}

void World::check_voters(const ExploredNode& node, const ExploredNode& before) const {
  std::optional<std::pair<Offset, VoterSet>> last, previous;
  for (const auto& batch : node.log()) {
    if (!batch->control || !batch->control->voters) continue;
    previous = std::exchange(last, std::pair(*batch->control->voters_offset, *batch->control->voters));
  }
  if (!last) return;
  if (node.core().voters() != last->second) throw Violation{fmt::format("node {} does not go by the last voter set of its log, at {}", node.id(), last->first)};
  const bool is_new = node.core().is_leader() && (before.log().empty() || before.log().back()->end <= last->first);
  if (!is_new || !previous) return;
  size_t differences = 0;
  for (const auto& [id, voter] : last->second) differences += !previous->second.contains(voter.key);
  for (const auto& [id, voter] : previous->second) differences += !last->second.contains(voter.key);
  if (differences > 1) throw Violation{fmt::format("node {} changes {} voters at once", node.id(), differences)};
  if (!before.core().high_watermark() || *before.core().high_watermark() <= previous->first) {
    throw Violation{fmt::format("node {} changes the voters again at {} while the change at {} is not committed", node.id(), last->first, previous->first)};
  }
}

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/voters.h"

#include <algorithm>

#include "base/check.h"
#include "base/planted_fault.h"

namespace castellan::raft {

VoterSet::VoterSet(const std::vector<Voter>& voters) {
  for (const Voter& voter : voters) {
    CHECK(voter.key.id.value >= 0, "voter id {}", voter.key.id);
    const bool is_new = voters_.emplace(voter.key.id, voter).second;
    CHECK(is_new, "voter {} twice", voter.key.id);
  }
}

size_t VoterSet::majority() const { return (planted(Fault::half_is_a_majority) ? voters_.size() - 1 : voters_.size()) / 2 + 1; }

const Voter* VoterSet::find(NodeId id) const {
  const auto found = voters_.find(id);
  return found == voters_.end() ? nullptr : &found->second;
}

bool VoterSet::contains(ReplicaKey key) const {
  const Voter* voter = find(key.id);
  return voter && (!voter->key.has_directory() || voter->key.directory == key.directory || planted(Fault::directory_id_ignored));
}

std::optional<Endpoint> VoterSet::endpoint(NodeId id, const std::string& listener) const {
  const Voter* voter = find(id);
  if (!voter) return std::nullopt;
  const auto found = voter->endpoints.find(listener);
  if (found == voter->endpoints.end()) return std::nullopt;
  return found->second;
}

bool VoterSet::all_support(int16_t kraft_version) const {
  return std::ranges::all_of(voters_, [&](const auto& entry) { return entry.second.kraft_version.contains(kraft_version); });
}

std::optional<VoterSet> VoterSet::with(Voter voter) const {
  if (find(voter.key.id)) return std::nullopt;
  VoterSet result = *this;
  result.voters_.emplace(voter.key.id, std::move(voter));
  return result;
}

std::optional<VoterSet> VoterSet::without(ReplicaKey key) const {
  const Voter* voter = find(key.id);
  if (!voter || voter->key != key || size() == 1) return std::nullopt;
  VoterSet result = *this;
  result.voters_.erase(key.id);
  return result;
}

std::optional<VoterSet> VoterSet::with_update(Voter voter) const {
  return contains(voter.key) ? with_update_of_node(std::move(voter)) : std::nullopt;
}

std::optional<VoterSet> VoterSet::with_update_of_node(Voter voter) const {
  if (!find(voter.key.id)) return std::nullopt;
  VoterSet result = *this;
  const NodeId id = voter.key.id;
  result.voters_[id] = std::move(voter);
  return result;
}

}  // namespace castellan::raft

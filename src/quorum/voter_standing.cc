// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/voter_standing.h"

namespace castellan::quorum {

VoterStanding standing_in(const raft::VoterSet& voters, raft::ReplicaKey self) {
  if (voters.empty()) return VoterStanding::unknown;
  if (voters.contains(self)) return VoterStanding::voter;
  return voters.find(self.id) ? VoterStanding::other_directory : VoterStanding::none;
}

std::string standing_text(VoterStanding before, VoterStanding now, const raft::VoterSet& voters, raft::ReplicaKey self) {
  if (now == VoterStanding::other_directory) {
    const auto listed = voters.find(self.id)->key.directory;
    return fmt::format(
        "node {} is no voter with its directory id {}: the voters' entry for it names directory id {}, another disk. It follows as an observer, and the entry counts "
        "for nothing. If that disk is gone, remove it with remove-controller --controller-id {} --controller-directory-id {}, and add this one with add-controller",
        self.id, self.directory, listed, self.id, listed);
  }
  if (now != VoterStanding::none) return "";
  std::vector<raft::ReplicaKey> keys;
  for (const auto& [id, voter] : voters) keys.push_back(voter.key);
  return fmt::format("node {} is no voter{}: the voters are {}. It follows as an observer; add-controller makes it a voter", self.id,
                     before == VoterStanding::voter ? " any more" : "", fmt::join(keys, ", "));
}

}  // namespace castellan::quorum

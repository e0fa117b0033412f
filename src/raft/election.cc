// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/election.h"

namespace castellan::raft {

bool may_grant(const GrantQuestion& question) {
  switch (question.standing) {
    case Standing::unattached:
    case Standing::prospective:
      if (question.pre_vote) return question.up_to_date;
      if (question.voted) {
        // A vote kept by quorum-state version 0 has no directory and stands for any of that id.
        return question.voted->id == question.candidate.id &&
               (!question.voted->has_directory() || question.voted->directory == question.candidate.directory);
      }
      return !question.leader_known && question.up_to_date;
    case Standing::follower:
      return question.pre_vote && !question.has_fetched && question.up_to_date;
    case Standing::candidate:
    case Standing::resigned:
      return question.pre_vote && question.up_to_date;
    case Standing::leader:
      return false;
  }
  return false;
}

Tally::Tally(VoterSet voters, ReplicaKey self) : voters_(std::move(voters)) {
  if (voters_.contains(self)) record(self.id, true, false);
}

void Tally::record(NodeId id, bool granted, bool may_change) {
  if (!voters_.find(id)) return;
  const auto [at, is_new] = answers_.emplace(id, granted);
  if (!is_new) {
    if (!may_change || at->second == granted) return;
    --(at->second ? granted_ : rejected_);
    at->second = granted;
  }
  ++(granted ? granted_ : rejected_);
}

std::vector<NodeId> Tally::granting() const {
  std::vector<NodeId> ids;
  for (const auto& [id, granted] : answers_) {
    if (granted) ids.push_back(id);
  }
  return ids;
}

}  // namespace castellan::raft

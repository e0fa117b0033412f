// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Who gets a vote, and whether an election is won. Pure functions of values; who may be asked, what is written down and
// when, is the core's (roles.h).
//
// The grant rule (KIP-595, KIP-996), with "up to date" = the candidate's log ends at or after ours, epoch first:
//
//   state                       pre-vote                        vote
//   unattached, prospective     up to date                      voted in this epoch: for the same replica
//                                                               else leader known: no
//                                                               else up to date
//   follower                    up to date and not one          no
//                               successful fetch yet
//   candidate, resigned         up to date                      no
//   leader                      no                              no
//
// Membership is not asked: voter sets may differ while they change.

#pragma once

#include <map>
#include <optional>

#include "raft/voters.h"

namespace castellan::raft {

enum class Standing : uint8_t { unattached, prospective, follower, candidate, leader, resigned };

struct GrantQuestion {
  Standing standing = Standing::unattached;
  bool leader_known = false;
  bool has_fetched = false;            // follower: from this leader
  std::optional<ReplicaKey> voted;     // in this epoch
  ReplicaKey candidate;
  bool pre_vote = false;
  bool up_to_date = false;
};
bool may_grant(const GrantQuestion& question);

// The count of one election (or pre-election) over the voter set it started with.
class Tally {
 public:
  // `self` votes for itself when it is among the voters.
  Tally(VoterSet voters, ReplicaKey self);

  // Nothing when `id` was not asked. A prospective may be answered differently the second time, a candidate may not: the
  // first answer stays.
  void record(NodeId id, bool granted, bool may_change);
  bool won() const { return granted_ >= voters_.majority(); }
  bool lost() const { return voters_.size() - rejected_ < voters_.majority(); }
  bool has_answered(NodeId id) const { return answers_.contains(id); }
  std::vector<NodeId> granting() const;
  const VoterSet& voters() const { return voters_; }

 private:
  VoterSet voters_;
  std::map<NodeId, bool> answers_;
  size_t granted_ = 0;
  size_t rejected_ = 0;
};

}  // namespace castellan::raft

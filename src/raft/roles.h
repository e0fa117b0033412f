// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The six roles of a replica, each a type that holds only what is true in it. "Voter" and "observer" are no roles: they follow
// from the latest voter set. Transitions are in transitions.cc, through one door.
//
//               higher epoch seen (from any role)
//                         |
//                         v        election timeout        pre-votes won (epoch + 1)
//   start-up -----> Unattached ----------------> Prospective -----------------> Candidate
//                     |    ^                      ^  |   ^                      |   |
//      leader learned |    | leader not known,    |  |   |  election timeout    |   | votes won
//                     |    | pre-votes lost       |  |   +----------------------+   |
//                     v    +----------------------|--+                              v
//                  Follower ----------------------+                              Leader
//                     ^      fetch timeout                                          |
//                     +---- (from every role: a leader of this or a higher epoch)   | resign, no majority, shutdown
//                                                                                   v
//                  Unattached (epoch + 1) <------- election timeout ------------ Resigned
//
// Only Unattached, Follower, Candidate and Leader reach quorum-state; a vote is kept through all changes within an epoch.

#pragma once

#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "raft/election.h"
#include "raft/progress.h"

namespace castellan::raft {

struct KnownLeader {
  NodeId id = no_node;
  Endpoints endpoints;
};

struct Unattached {
  std::optional<NodeId> leader;  // known by name only
  std::optional<ReplicaKey> voted;
  MonotonicTime election_deadline;
};

struct Follower {
  KnownLeader leader;
  std::optional<ReplicaKey> voted;
  MonotonicTime fetch_deadline;
  bool has_fetched = false;
  MonotonicTime update_voter_deadline;
  bool update_voter_done = false;  // this leader has our entry (kraft.version 0)

  struct Download {
    SnapshotId id;
    int64_t position = 0;
    bool storing = false;  // the last chunk is with the shell
  };
  std::optional<Download> download;
};

struct Prospective {
  std::optional<KnownLeader> leader;
  std::optional<ReplicaKey> voted;
  Tally tally;
  MonotonicTime election_deadline;
};

struct Candidate {
  Tally tally;
  MonotonicTime election_deadline;
};

struct Leader {
  Offset epoch_start;
  Progress progress;
  std::vector<NodeId> granting_voters;
  MonotonicTime begin_quorum_epoch_deadline;
  // kraft.version 0: the configured voters with what each has told of itself (UpdateRaftVoter): what the log gets with the upgrade.
  std::optional<VoterSet> told_voters = {};
  bool resign_requested = false;
};

struct Resigned {
  std::vector<ReplicaKey> preferred_successors;
  std::set<NodeId> unacknowledged;
  VoterSet voters;  // those it resigned from
  MonotonicTime election_deadline;
};

using Role = std::variant<Unattached, Follower, Prospective, Candidate, Leader, Resigned>;

Standing standing_of(const Role& role);
std::string_view name_of(const Role& role);

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a leader knows of the other replicas: how far each log reaches, when each last fetched; and from that the high
// watermark and whether a majority still follows (check-quorum, KIP-835).
//
// Voters are those of the latest voter set, committed or not; everybody else that fetches under an id is an observer. When the
// set changes replicas move between the two and keep what is known of them.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"
#include "raft/messages.h"
#include "raft/voters.h"

namespace castellan::raft {

struct ReplicaProgress {
  ReplicaKey key;
  std::optional<Offset> end;
  std::optional<Now> last_fetch;
  std::optional<Now> last_caught_up;
  Offset leader_end_at_last_fetch;  // the leader's log end when `last_fetch` was
  bool acknowledged = false;        // knows of this leader: answered BeginQuorumEpoch, or fetched
};

class Progress {
 public:
  Progress(ReplicaKey self, const VoterSet& voters, Now now, Duration check_quorum_timeout);

  void set_voters(const VoterSet& voters, Now now);
  // How far the leader's own log counts: what is synced.
  void set_own_end(Offset end);

  // A fetch at a valid position. True when the replica is a voter.
  bool on_fetch(ReplicaKey replica, Offset at, Offset leader_end, Now now);
  // The replica showed that it follows: counts for check-quorum if it is a voter.
  void heard_from(ReplicaKey replica, MonotonicTime now);
  void acknowledge(NodeId voter);

  // The offset below which a majority of the voters has everything; nothing while that is not known.
  std::optional<Offset> majority_end() const;
  // When the leader gives up unless a majority is heard from. Never for the only voter.
  MonotonicTime check_quorum_deadline() const;

  // Voters but the leader that have not fetched since `since`.
  std::vector<NodeId> silent_since(MonotonicTime since) const;
  // All voters but the leader, longest log first: who should lead next.
  std::vector<ReplicaKey> successors() const;
  // Has been caught up once, and has fetched within the last hour.
  bool observer_caught_up(ReplicaKey replica, MonotonicTime now) const;
  void forget_silent_observers(MonotonicTime now);

  std::vector<ReplicaDescription> describe_voters(Offset leader_end, Now now) const;
  std::vector<ReplicaDescription> describe_observers(Offset leader_end, Now now) const;
  size_t observer_count() const { return observers_.size(); }

 private:
  friend class StateAccess;  // of the explorer
  ReplicaProgress& find_or_add(ReplicaKey replica);
  ReplicaDescription describe(const ReplicaProgress& replica, Offset leader_end, Now now) const;
  bool leader_is_voter() const { return voters_.contains(self_.id) && voters_.at(self_.id).key == self_; }

  ReplicaKey self_;
  std::map<NodeId, ReplicaProgress> voters_;
  std::map<ReplicaKey, ReplicaProgress> observers_;  // the leader too, once it is no voter
  std::optional<Offset> own_end_;
  bool own_directory_known_ = false;  // by the voter set: describe tells what the set says
  std::set<NodeId> heard_from_;  // since check_quorum_start_
  MonotonicTime check_quorum_start_;
  Duration check_quorum_timeout_;
};

}  // namespace castellan::raft

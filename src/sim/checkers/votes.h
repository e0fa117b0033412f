// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A replica votes once in an epoch, restarts or not, and a leader has the votes of a majority of its voters. Votes are taken from the
// messages: what a node held in memory only and forgot in a crash never was a vote.

#pragma once

#include <map>

#include "sim/checkers/monotone.h"
#include "sim/network.h"

namespace castellan::sim {

class Votes {
 public:
  static constexpr std::string_view name = "one vote per epoch";
  Votes(Report& report, Monotone& monotone) : report_(report), monotone_(monotone) {}

  // Vote requests and their answers; `sender` is the replica that sends, as it is now.
  void passes(const Network::Passing& message, raft::ReplicaKey sender);
  // On the first sight of a leader in its epoch.
  void elected(const Seen& leader);
  void forget(raft::ReplicaKey replica);

 private:
  void vote(raft::ReplicaKey voter, Epoch epoch, raft::ReplicaKey candidate);

  Report& report_;
  Monotone& monotone_;
  std::map<std::pair<raft::ReplicaKey, Epoch>, raft::ReplicaKey> votes_;
};

}  // namespace castellan::sim

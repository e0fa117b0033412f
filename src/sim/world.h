// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A cluster of simulated nodes with everything that checks it. The nodes run the code that the server runs, the loops of quorum/
// included. After each thing that happens the node it happened to is looked at by the checkers; the first violation ends the run.
//
//   World world(seed, plan, sink);
//   world.start();
//   world.run_for(std::chrono::seconds(1));        // false once something is violated
//
// What a node must never do is a failed CHECK; here it does not end the process but is a violation as well (run.h).

#pragma once

#include <memory>
#include <vector>

#include "raft/invariants.h"
#include "sim/checkers/check_quorum.h"
#include "sim/checkers/committed.h"
#include "sim/checkers/log_matching.h"
#include "sim/checkers/monotone.h"
#include "sim/checkers/one_leader.h"
#include "sim/checkers/replies.h"
#include "sim/checkers/snapshots.h"
#include "sim/checkers/voter_history.h"
#include "sim/checkers/votes.h"
#include "sim/model_trace.h"
#include "sim/node.h"
#include "sim/trouble.h"

namespace castellan::sim {

class World {
 public:
  using Sink = std::function<void(const std::string& line)>;
  World(uint64_t seed, const Plan& plan, Sink trace);
  ~World();

  // Formats all nodes and starts them.
  void start();
  // False when something is violated.
  bool run_for(Duration time) { return run_until([] { return false; }, time), report.clean(); }
  // True once `done` holds, false when `patience` has passed or something is violated.
  bool run_until(const std::function<bool()>& done, Duration patience);

  void start_node(Node& node);
  // What a node does when its disk fails under it is to stop; that is no fault then.
  void expect_failure(int node, bool expected) { failure_expected_[node] = expected; }

  Node& node(int id) { return *nodes.at(static_cast<size_t>(id - 1)); }
  // The one that leads the latest epoch, and knows it.
  Node* leader();
  // The one whose controller takes requests.
  Node* active();
  // Where the epoch begins that the node led last.
  int64_t leads_from(int id) const { return states_.at(static_cast<size_t>(id - 1)).leads_from; }
  // Something of interest happened to the node: an election, a vote, a write. For ambushes.
  void on_moment(std::function<void(Node&)> told) { moment_ = std::move(told); }
  // Votes and epochs that the replica promised are forgotten with its disk.
  void forget(raft::ReplicaKey replica);

  const Plan plan;
  Schedule schedule;
  Trace trace;
  Prng random;          // of nodes and network
  Report report;
  Network network;
  std::vector<std::unique_ptr<Node>> nodes;  // node i + 1 at i

  Monotone monotone;
  OneLeader one_leader;
  Votes votes;
  LogMatching log_matching;
  Replies replies;
  Committed committed;
  VoterHistory voter_history;
  Snapshots snapshots;
  ModelTrace* model_trace = nullptr;  // told of all that replicas show
  CheckQuorum check_quorum;

 private:
  struct State {
    int life = 0;
    Epoch epoch{-1};
    Epoch led{-1};
    size_t role = 0;
    Offset high_watermark{-1};
    int64_t leads_from = 0;
    raft::Invariants invariants;
  };
  void look();
  void look_at(Node& node);
  bool has_durably(const raft::Voter& voter, const LogEntry& entry);

  std::vector<State> states_;
  std::map<int, bool> failure_expected_;
  std::set<int> forgiven_;  // nodes that lost what they had
  std::function<void(Node&)> moment_;
};

}  // namespace castellan::sim

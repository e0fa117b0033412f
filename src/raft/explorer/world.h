// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A whole explored quorum as a value: replicas, messages on their way, how much of each trouble has happened, and what the checkers
// remember. Copies share what did not change.
//
// Checked at every event: raft/invariants.h on the replica; one leader in an epoch; one vote of a replica in an epoch, over restarts;
// equal logs up to where epoch and offset are equal; what is committed is synced by a majority of the voters in force, agrees with all
// that was committed before, and is in the log of every later leader; the voter set in force is the last one of the log; a voter set
// differs from the one before by one replica, and is proposed when that one is committed. A breach is thrown as a Violation.

#pragma once

#include <array>
#include <map>
#include <string>

#include "raft/explorer/explored_node.h"

namespace castellan::raft {

// How much of each may happen in one run.
struct Bounds {
  int epochs = 2;
  int records = 1;    // proposed by clients
  int losses = 0;     // messages lost
  int crashes = 0;
  int timeouts = 3;   // a role's time is over
  int in_flight = 5;  // messages on their way at once
  int removals = 0;   // of the voter `removed`
  int additions = 0;  // of the joining replica, the last node
  NodeId removed{3};
  int voters = 3;
  bool joining = false;     // one more replica, no voter yet
  enum class Disk : uint8_t { at_once, before_next_step, any_time };
  Disk disk = Disk::before_next_step;  // when its work is done; a crash takes what is not
  bool asks_around = false; // replicas without a leader ask the others, one after the other
  bool starts_led = false;  // begins with node 1 as leader of epoch 1, followed by all
  bool elections_only = false;  // what a leader does once it leads is not gone into
  bool troubles_first = false;  // only the order: crashes and timeouts are tried before messages
};

struct Event {
  enum class Kind : uint8_t { deliver, lose, disk, timeout, propose, remove, add, crash, crash_keeping } kind = Kind::deliver;
  uint8_t node = 0;      // index, where it is about a node
  uint16_t message = 0;  // index, where it is about a message
};

class World final : public NodeEvents {
 public:
  static constexpr int max_nodes = 5;
  explicit World(const Bounds& bounds);

  // All that may happen next.
  std::vector<Event> events() const;
  void happen(const Event& event);
  std::string describe(const Event& event) const;

  // Whether one of the replicas stands for all the others still: before anything has happened only node 1 need begin.
  bool is_untouched() const { return !bounds_->starts_led && timeouts_ + crashes_ == 0; }

  // Inside the bounds: beyond them nothing is looked at.
  bool inside() const;
  Digest digest() const;

  const ExploredNode& node(int index) const { return *nodes_[static_cast<size_t>(index)]; }
  int node_count() const { return count_; }

 private:
  void sent(MessagePtr message) override;
  void voted(NodeId node, Epoch epoch, NodeId candidate) override;
  void committed(NodeId node, Offset end) override;

  template <class F>
  void change(int index, F&& f);
  void step(int index, Input input);
  void after_change(int index, const ExploredNode& before);
  void fail_request(const Message& message, ErrorCode error);
  void crash(int index, bool keeps_unsynced);
  void propose(int index);
  void deliver_what_changes_nothing();
  void lead();
  int index_of(NodeId id) const { return id.value - 1; }
  bool awaited(const Message& message) const;
  void check_commit(int index, Offset end);
  void check_logs(int index) const;
  void check_voters(const ExploredNode& node, const ExploredNode& before) const;

  const Bounds* bounds_;
  int count_ = 0;
  std::array<std::shared_ptr<ExploredNode>, max_nodes> nodes_;
  std::vector<MessagePtr> network_;
  int records_ = 0, losses_ = 0, crashes_ = 0, timeouts_ = 0, removals_ = 0, additions_ = 0;

  // What the checkers remember.
  std::map<Epoch, NodeId> leaders_;
  std::map<std::pair<Epoch, NodeId>, NodeId> votes_;
  ExploredLog committed_;
  std::vector<std::pair<int, Offset>> commits_now_;  // during one event, checked when it is over
};

}  // namespace castellan::raft

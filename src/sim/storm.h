// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The trouble of one world, as its plan says: a number of steps, each of which breaks something, for a while or until the storm ends.
// heal() ends it: every node is up, every message arrives, every disk works. From then on progress is required.

#pragma once

#include "sim/world.h"

namespace castellan::sim {

class Storm {
 public:
  Storm(World& world, uint64_t seed);

  void begin();
  bool over() const { return steps_left_ <= 0; }
  void heal();
  // Takes a dead replica out of the voters, once the rest of them works again.
  bool replacing_done();

  int count(Trouble trouble) const { return counts_[static_cast<size_t>(trouble)]; }

 private:
  void step();
  void perform(Trouble trouble, Prng& random);
  void end_process(Node& node, Trouble how, Prng& random);
  void start_later(Node& node, Prng& random);
  void partition(Prng& random, bool one_way);
  void set_ambush(Prng& random);
  void spring(Node& node);
  void fail_disk(Node& node, bool full, Prng& random);
  void change_voters(Prng& random);
  void upgrade();
  void replace(Node& node, Prng& random);
  void wipe(Node& node, Prng& random);
  Node& victim(Prng& random);
  bool majority_has_everything_without(const Node& node);
  void ask_leader(int16_t key, int16_t version, Bytes body);

  World& world_;
  uint64_t seed_;
  Prng random_;   // which kind, and when
  std::array<int, trouble_count> counts_{};
  int steps_left_ = 0;
  int steps_done_ = 0;
  bool healed_ = false;
  int cut_ = 0;   // generation of the partition in force
  MonotonicTime removal_asked_;
  struct Ambush {
    int countdown = 0;
    Trouble how = Trouble::kill;
    Prng random{0};
  };
  std::optional<Ambush> ambush_;
  std::set<raft::ReplicaKey> dead_;  // replicas whose disk is gone
};

}  // namespace castellan::sim

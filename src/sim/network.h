// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The simulated network between the controllers: delays, losses, nodes that are cut off. A node that is down refuses connections, which
// its peers hear of at once; one that is cut off is only silent.

#pragma once

#include <map>
#include <memory>
#include <set>

#include "io/channel.h"
#include "quorum/testing.h"

namespace castellan::sim {

class Network {
 public:
  explicit Network(quorum::World& world);
  ~Network();

  // The channel of node `id`; lives as long as the network.
  io::Channel& channel(int id);
  void add(quorum::TestNode* node) { nodes_[node->id()] = node; }

  // Of the messages that are sent from now on.
  void set_loss(double probability) { loss_ = probability; }
  // No message goes from `from` to `to`.
  void cut(int from, int to) { cuts_.insert({from, to}); }
  void isolate(int id);
  void heal() { cuts_.clear(); }

 private:
  class Port;
  using Callback = io::Channel::Callback;
  void send(int from, const io::Endpoint& to, int16_t key, int16_t version, Bytes body, Duration timeout, Callback done);
  bool lost(int from, int to) { return cuts_.contains({from, to}) || world_.random().chance(loss_); }
  Duration delay();

  quorum::World& world_;
  std::map<int, quorum::TestNode*> nodes_;
  std::map<int, std::unique_ptr<Port>> ports_;
  std::set<std::pair<int, int>> cuts_;
  double loss_ = 0;
};

}  // namespace castellan::sim

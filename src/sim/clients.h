// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Clients of the controllers: each asks for one thing at a time, of whom it takes for the active one, and goes on when it is answered
// or has waited long enough. Every answer is handed to the checker of replies when it leaves the node.

#pragma once

#include <memory>
#include <vector>

#include "sim/world.h"

namespace castellan::sim {

class Clients {
 public:
  Clients(World& world, uint64_t seed);
  ~Clients();

  // `requests` altogether, evenly over `time`.
  void begin(int requests, Duration time);
  // How many answers said "done" so far, by the slowest client.
  int done_by_the_slowest() const;
  int answered() const { return answered_; }

 private:
  struct Client;
  void next(Client& client);
  void ask(Client& client);
  void send(Client& client, int16_t key, int16_t version, Bytes body, std::function<bool(const Bytes& answer, int node)> check);
  void register_broker(Client& client);
  void heartbeat(Client& client);
  void create_topic(Client& client);
  void delete_topic(Client& client);
  void set_quota(Client& client);
  void allocate_ids(Client& client);

  World& world_;
  Prng random_;
  std::vector<std::unique_ptr<Client>> clients_;
  MonotonicTime end_;
  Duration gap_{};
  int answered_ = 0;
  int64_t values_ = 0;
};

}  // namespace castellan::sim

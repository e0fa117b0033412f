// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The simulated network: between the nodes, and from clients to nodes. Messages are lost, late, doubled, and overtake each other;
// pairs of hosts are cut off from each other, in one direction or both. What a Channel must tell apart is told apart: a process that
// is gone ends its connections, which its peers hear of, while one that is cut off, or stopped, is only silent (io/channel.h).
//
// Hosts: nodes are 1 and up, clients negative. One thread.

#pragma once

#include <map>
#include <memory>
#include <set>

#include "io/channel.h"
#include "quorum/metadata_node.h"
#include "sim/schedule.h"
#include "sim/trace.h"

namespace castellan::sim {

// A node, as the network sees it.
class Host {
 public:
  virtual ~Host() = default;
  virtual bool running() const = 0;
  virtual int life() const = 0;  // counts starts
  virtual void deliver(quorum::MetadataRequest request, quorum::MetadataNode::Reply reply) = 0;
  // Runs `work` as that process would be told of it: later, if it is stopped.
  virtual void tell(std::function<void()> work) = 0;
};

// What happens to messages that are sent from now on.
struct Weather {
  double loss = 0;
  double doubled = 0;    // requests only: the answer is given once
  double reset = 0;      // the connection ends though both processes live
  double slow = 0;       // takes up to `slowest` instead of less than a millisecond
  Duration slowest = std::chrono::milliseconds(200);
};

class Network {
 public:
  using Callback = io::Channel::Callback;
  // Of each message between nodes that leaves: for the checkers. Null in `response` for a request.
  struct Passing {
    int from = 0;
    int to = 0;
    int16_t key = 0;
    int16_t version = 0;
    const Bytes& request;
    const Bytes* response = nullptr;
  };
  using Witness = std::function<void(const Passing&)>;

  Network(Schedule& schedule, Prng& random, const Trace& trace);
  ~Network();

  void add(int id, Host* host) { hosts_[id] = host; }
  // The channel of node `id`; lives as long as the network.
  io::Channel& channel(int id);
  // A client's request; it is answered, or it ends in an error when the time is over. `left` sees the answer when the node gives it,
  // whatever becomes of it on the way.
  void request(int client, int to, quorum::MetadataRequest request, Duration timeout, std::function<void(const Result<Bytes>&)> left, Callback done);
  // The process of node `id` is gone: its connections end.
  void gone(int id);
  void set_witness(Witness witness) { witness_ = std::move(witness); }
  // When `to` last had a fetch, of records or of a snapshot, from `from`; long ago when never.
  MonotonicTime last_fetch(int from, int to) const;

  Weather weather;
  void cut(int from, int to) { cuts_.insert({from, to}); }
  void heal() { cuts_.clear(); }
  uint64_t messages() const { return messages_; }

  // Node N answers on nodeN:9093.
  static std::string name_of(int id) { return "node" + std::to_string(id); }

 private:
  class Port;
  struct Call;
  using CallPtr = std::shared_ptr<Call>;

  void send(int from, int to, quorum::MetadataRequest request, Duration timeout, std::function<void(const Result<Bytes>&)> left, Callback done);
  void arrive(const CallPtr& call);
  void answer(const CallPtr& call, Result<Bytes> body);
  void finish(const CallPtr& call, Result<Bytes> body);
  void end_connection(const CallPtr& call);
  bool lost(int from, int to);
  Duration delay();
  int find(const std::string& name) const;

  Schedule& schedule_;
  Prng& random_;
  const Trace& trace_;
  Witness witness_;
  std::map<int, Host*> hosts_;
  std::map<int, std::unique_ptr<Port>> ports_;
  std::set<std::pair<int, int>> cuts_;
  std::map<std::pair<int, int>, std::pair<int, int>> connected_;  // hosts: the lives in which they last talked
  std::map<int, std::vector<CallPtr>> open_;                      // by who was asked: what may still be answered
  std::map<std::pair<int, int>, MonotonicTime> fetches_;          // when the last one arrived
  uint64_t messages_ = 0;
};

}  // namespace castellan::sim

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One replica of an explored quorum: the real core, beside it the least that a shell and a disk can be: a log of batches of which the
// first so many survive a power cut, the election state that is on disk, and the work that the disk has not done yet, in order.

#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "raft/core.h"
#include "raft/explorer/digest.h"
#include "raft/invariants.h"

namespace castellan::raft {

struct ExploredBatch {
  Offset base;
  Offset end;
  Epoch epoch;
  Bytes bytes;
  std::optional<ControlRecords> control;
  Digest chain;  // of this batch and all before it
};
using ExploredLog = std::vector<std::shared_ptr<const ExploredBatch>>;

// Up to `end`, which is where a batch ends: what the log says there. Nothing when no batch does.
std::optional<Digest> chain_at(const ExploredLog& log, Offset end);

// A request or its answer on its way. Immutable, so that states share it.
struct Message {
  bool is_answer = false;
  NodeId from = no_node;
  NodeId to = no_node;
  int asker_life = 0;        // of the node that asked
  uint64_t request_id = 0;   // as the asker counts
  RequestBody request;       // when it is no answer
  ResponseBody response;
  Digest digest;             // of all but life and request id

  NodeId asker() const { return is_answer ? to : from; }
};
using MessagePtr = std::shared_ptr<const Message>;

// A violation, as an exception: it ends the exploration from deep inside a step.
struct Violation {
  std::string what;
};

// What a node does to the world around it.
class NodeEvents {
 public:
  virtual ~NodeEvents() = default;
  virtual void sent(MessagePtr message) = 0;
  virtual void voted(NodeId node, Epoch epoch, NodeId candidate) = 0;
  virtual void committed(NodeId node, Offset end) = 0;
};

class ExploredNode {
 public:
  ExploredNode(Config config, VoterSet bootstrap_voters, NodeEvents& events);

  const Core& core() const { return *core_; }
  const ExploredLog& log() const { return log_; }
  NodeId id() const { return config_.id; }
  int life() const { return life_; }
  size_t batches_on_disk() const { return on_disk_; }
  bool has_disk_work() const { return !work_.empty(); }
  const Digest& digest() const { return digest_; }

  void step(Input input, NodeEvents& events);
  void expire(NodeEvents& events);
  // The disk finishes its oldest work.
  void finish_disk_work(NodeEvents& events);
  // Power cut and start. What was not synced is gone, or all there after all.
  void crash(bool keeps_unsynced, NodeEvents& events);

  // A bootstrap fetch is one message among many: without them the space is smaller.
  bool asks_around = false;

  static Now now() { return {MonotonicTime{int64_t{1} << 50}, WallTime{0}}; }
  static constexpr uint64_t client_token = UINT64_MAX;
  // Names the question of a peer, and whether it was a pre-vote.
  static uint64_t token_of(const Message& request);

 private:
  struct DiskWork {
    int64_t id = 0;
    std::optional<ElectionState> election;  // else a sync of the log
    size_t batches = 0;
  };

  void start(NodeEvents& events);
  void perform_all(NodeEvents& events);
  void perform(Action& action, NodeEvents& events);
  void append(const Append& action);
  void reply(uint64_t token, ResponseBody body, NodeEvents& events);
  void send(Send& action, NodeEvents& events);
  bool must_wait(int64_t after) const;
  void settle(NodeEvents& events);
  void update_digest();

  Config config_;
  VoterSet bootstrap_voters_;
  int life_ = 0;
  std::optional<Core> core_;
  Invariants invariants_;

  ElectionState election_on_disk_;
  bool election_file_ = false;
  ExploredLog log_;
  size_t on_disk_ = 0;
  std::deque<DiskWork> work_;
  std::vector<std::pair<int64_t, Action>> waiting_;
  Digest digest_;
};

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The replica mathematics of one partition on one broker: which role it has, which replicas are in sync, how far the high
// watermark may go, and what the controller must be asked. Values in, effects out; the log, the network and the clock are
// the caller's.
//
//                      apply(leader = self, later epoch)
//   none --apply--> follower <----------------------------> leader
//
// Invariants: the high watermark of a leader never goes back; committed ISR <= maximal ISR (what the controller may already
// have agreed to); at most one AlterPartition is under way (B294 to B300, KIP-497, KIP-841, KIP-966).

#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/error_code.h"
#include "base/ids.h"
#include "base/time.h"

namespace castellan::partition {

struct ReplicaInfo {
  NodeId id;
  int64_t broker_epoch = -1;  // of its registration; -1 unknown
  bool is_active = true;      // registered, not fenced, not shutting down
};

// What the metadata says of the partition, with what it says of the brokers of its replicas.
struct PartitionMetadata {
  NodeId leader = no_node;
  int32_t leader_epoch = -1;
  int32_t partition_epoch = -1;
  std::vector<ReplicaInfo> replicas;
  std::vector<NodeId> isr;
  bool is_recovering = false;  // elected uncleanly: the leader confirms that it has recovered
  int32_t min_insync_replicas = 1;
};

// A request to the controller for another ISR. The caller batches them; the answer goes to on_altered.
struct AlterPartition {
  int32_t leader_epoch = -1;
  int32_t partition_epoch = -1;
  std::vector<ReplicaInfo> isr;  // with the epochs their brokers had when they fetched

  friend bool operator==(const AlterPartition& a, const AlterPartition& b);
};

struct AlterPartitionResult {
  ErrorCode error = ErrorCode::NONE;
  int32_t leader_epoch = -1;
  int32_t partition_epoch = -1;
  std::vector<NodeId> isr;
};

struct FollowerFetch {
  NodeId replica;
  int64_t fetch_offset = 0;     // everything before it is in the follower's log
  int64_t log_start_offset = 0;
  int64_t broker_epoch = -1;    // that the follower says it has (v15); -1 says nothing
};

struct Effects {
  bool became_leader = false;     // note (leader epoch, log end) in the epoch cache
  bool became_follower = false;   // begin to fetch from leader()
  bool high_watermark_moved = false;
  bool isr_changed = false;
  std::optional<AlterPartition> alter;

  void add(Effects&& more);
};

class PartitionState {
 public:
  enum class Role { NONE, LEADER, FOLLOWER };

  // `lag_max` is replica.lag.time.max.ms.
  PartitionState(NodeId self, Duration lag_max) : self_(self), lag_max_(lag_max) {}

  // The log was opened: its end and the high watermark that was kept, before any metadata.
  void open(int64_t log_end, int64_t high_watermark);

  // Metadata of an older partition epoch is ignored.
  Effects apply(MonotonicTime now, const PartitionMetadata& metadata);
  // The local log ends there now (appended as leader or follower, or truncated as follower).
  Effects on_log_end(MonotonicTime now, int64_t log_end);
  Effects on_follower_fetch(MonotonicTime now, const FollowerFetch& fetch);
  // A follower has a fetch answer: the leader's high watermark, bounded by what is here.
  Effects on_leader_high_watermark(int64_t high_watermark);
  // Looks for followers that have fallen behind; every half of lag_max is often enough.
  Effects on_time(MonotonicTime now);
  Effects on_altered(MonotonicTime now, const AlterPartitionResult& result);

  Role role() const { return role_; }
  bool is_leader() const { return role_ == Role::LEADER; }
  NodeId leader() const { return metadata_.leader; }
  int32_t leader_epoch() const { return metadata_.leader_epoch; }
  int32_t partition_epoch() const { return metadata_.partition_epoch; }
  int64_t log_end() const { return log_end_; }
  int64_t high_watermark() const { return high_watermark_; }
  // What a reader of committed transactions may see. `first_unstable` is the start of the oldest open transaction, if any.
  int64_t last_stable_offset(std::optional<int64_t> first_unstable) const;
  const std::vector<NodeId>& isr() const { return metadata_.isr; }
  std::vector<NodeId> maximal_isr() const;
  bool is_altering() const { return pending_.has_value(); }
  // The lowest log start among the replicas that are alive, which is how far a DeleteRecords has come.
  int64_t low_watermark(int64_t own_log_start) const;

  // The epoch a client or follower believes in; -1 is not checked. FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH or NONE.
  ErrorCode check_epoch(int32_t leader_epoch) const;
  // A fetch under a replica id that the leader does not know (B301).
  ErrorCode check_replica(NodeId replica, int32_t leader_epoch) const;
  // Before an append with acks=all: NOT_ENOUGH_REPLICAS or NONE.
  ErrorCode check_append() const;
  // After it, for the records below `end`: none while they are not committed, then NONE or NOT_ENOUGH_REPLICAS_AFTER_APPEND.
  std::optional<ErrorCode> check_replicated(int64_t end) const;

 private:
  struct Follower {
    int64_t log_end = -1;
    int64_t log_start = -1;
    int64_t broker_epoch = -1;
    MonotonicTime caught_up{INT64_MIN};   // when it last had all the leader had
    MonotonicTime last_fetch{INT64_MIN};
    int64_t leader_end_at_last_fetch = -1;
  };

  int32_t min_isr() const;
  bool in_isr(NodeId replica) const;
  bool is_eligible(NodeId replica) const;
  bool is_caught_up(const Follower& follower, MonotonicTime now) const;
  Effects advance_high_watermark(MonotonicTime now);
  std::optional<AlterPartition> propose(std::vector<NodeId> isr);
  AlterPartition request_for(const std::vector<NodeId>& isr) const;
  std::optional<AlterPartition> expand(NodeId replica);
  std::optional<AlterPartition> shrink(MonotonicTime now);

  NodeId self_;
  Duration lag_max_;
  Role role_ = Role::NONE;
  PartitionMetadata metadata_;
  std::map<NodeId, Follower> followers_;  // of a leader: every other replica
  std::optional<std::vector<NodeId>> pending_;
  int64_t log_end_ = 0;
  int64_t high_watermark_ = 0;
  int64_t leader_epoch_start_ = 0;  // where the log ended when this broker began to lead
};

}  // namespace castellan::partition

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the metadata says of one partition: replicas, in-sync replicas, leader, epochs, directories (PartitionRecord).
//
// PartitionState is the wide form, for those who work out a change. Partition is the packed form that the image keeps:
// 64 bytes for up to three replicas, since a cluster may have a million of them.
//
//   Partition packed(state);
//   packed.leader();  for (NodeId replica : packed.replicas()) ...;  packed.directory(0);  packed.state();
//
// Both are plain values.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace castellan::image {

// The numbers are on disk (KIP-704).
enum class LeaderRecoveryState : int8_t { RECOVERED = 0, RECOVERING = 1 };

struct PartitionState {
  std::vector<NodeId> replicas;
  std::vector<DirectoryId> directories;  // one per replica, or none: all are "migrating"
  std::vector<NodeId> isr;
  std::vector<NodeId> removing;
  std::vector<NodeId> adding;
  std::vector<NodeId> elr;               // eligible leader replicas (KIP-966)
  std::vector<NodeId> last_known_elr;
  NodeId leader = no_node;
  LeaderRecoveryState recovery = LeaderRecoveryState::RECOVERED;
  Epoch leader_epoch{0};
  int32_t partition_epoch = 0;

  friend bool operator==(const PartitionState&, const PartitionState&) = default;
};

// The same as a record has it, lent.
struct PartitionLists {
  std::span<const int32_t> replicas;
  std::span<const Uuid> directories;     // as many as replicas, or none: all migrating
  std::span<const int32_t> isr;
  std::span<const int32_t> removing;
  std::span<const int32_t> adding;
  std::span<const int32_t> elr;
  std::span<const int32_t> last_known_elr;
  NodeId leader = no_node;
  LeaderRecoveryState recovery = LeaderRecoveryState::RECOVERED;
  Epoch leader_epoch{0};
  int32_t partition_epoch = 0;
};

class Partition {
 public:
  Partition() = default;
  explicit Partition(const PartitionState& state);
  explicit Partition(const PartitionLists& lists);
  Partition(const Partition& other);
  Partition(Partition&& other) noexcept;
  Partition& operator=(Partition other) noexcept;
  ~Partition();

  NodeId leader() const { return leader_; }
  Epoch leader_epoch() const { return leader_epoch_; }
  int32_t partition_epoch() const { return partition_epoch_; }
  LeaderRecoveryState recovery() const { return recovery_; }

  std::span<const NodeId> replicas() const { return list(0); }
  std::span<const NodeId> isr() const { return list(1); }
  std::span<const NodeId> removing() const { return list(3); }
  std::span<const NodeId> adding() const { return list(4); }
  std::span<const NodeId> elr() const { return list(5); }
  std::span<const NodeId> last_known_elr() const { return list(6); }
  DirectoryId directory(size_t replica_position) const;
  std::vector<DirectoryId> directories() const;
  // Where `replica` keeps it; "unassigned" when it is no replica.
  DirectoryId directory_of(NodeId replica) const;

  bool is_reassigning() const { return counts_[3] + counts_[4] > 0; }
  bool has_preferred_leader() const { return counts_[0] > 0 && replicas()[0] == leader_; }
  PartitionState state() const;

  friend bool operator==(const Partition& a, const Partition& b);

 private:
  static constexpr size_t lists = 7;    // replicas, isr, numbers of directories, removing, adding, elr, last known elr
  static constexpr size_t directories_list = 2;
  static constexpr size_t inline_max = 9;

  size_t total() const {
    size_t sum = 0;
    for (uint16_t count : counts_) sum += count;
    return sum;
  }
  bool is_inline() const { return total() <= inline_max; }
  const NodeId* data() const;
  // Room for as many values as counts_ says.
  NodeId* make_room();
  std::span<const NodeId> list(size_t which) const;

  NodeId leader_ = no_node;
  Epoch leader_epoch_{0};
  int32_t partition_epoch_ = 0;
  uint16_t counts_[lists] = {};
  LeaderRecoveryState recovery_ = LeaderRecoveryState::RECOVERED;
  // The lists behind one another; where they do not fit, the address of a NodeId[].
  NodeId values_[inline_max];
};
static_assert(sizeof(Partition) == 64);

inline bool contains(std::span<const NodeId> nodes, NodeId node) {
  for (NodeId each : nodes) {
    if (each == node) return true;
  }
  return false;
}

}  // namespace castellan::image

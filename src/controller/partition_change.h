// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Works out the PartitionChangeRecord that takes a partition to a target: an ISR, a replica list, a reassignment; who
// leads then, and who is eligible to lead (KIP-966). Every change of a partition by the controller goes through here, so
// that the rules hold in one place:
//
//  - a reassignment that can be completed is completed, whatever the reason for the change;
//  - a leader is acceptable (alive, its directory online) and in the ISR; or, with an empty ISR, in the ELR; or the last
//    known leader when there is neither; or, in an unclean election, any acceptable replica;
//  - below min.insync.replicas, who leaves the ISR stays eligible (ELR) until a clean ISR is back;
//  - without ELR the last member of the ISR stays in it, and the partition has no leader until it comes back.
//
//   PartitionTarget target(partition);
//   target.isr = {...};
//   auto record = change_partition(key, partition, target, rules);    // nothing when nothing would change

#pragma once

#include <functional>
#include <optional>

#include "controller/context.h"
#include "image/metadata_record.h"
#include "image/partition.h"

namespace castellan::controller {

using image::PartitionKey;
using image::PartitionState;
using NodeIds = std::vector<NodeId>;

enum class Election {
  PREFERRED,  // the first replica if it can, else as ONLINE
  ONLINE,     // the current leader if it still can, else the first replica that can
  UNCLEAN,    // as ONLINE, and any acceptable replica rather than none
};

struct PartitionTarget {
  explicit PartitionTarget(const PartitionState& now)
      : isr(now.isr), replicas(now.replicas), removing(now.removing), adding(now.adding), recovery(now.recovery) {
    for (size_t i = 0; i < now.replicas.size(); ++i) directories[now.replicas[i]] = now.directories.empty() ? directory_migrating : now.directories[i];
  }

  NodeIds isr;
  NodeIds replicas;
  NodeIds removing;
  NodeIds adding;
  std::map<NodeId, DirectoryId> directories;  // of replicas; the others get rules.default_directory
  image::LeaderRecoveryState recovery;
  NodeIds unclean_shutdown;                   // no longer eligible: what they had may be lost
  Election election = Election::ONLINE;
};

struct PartitionRules {
  std::function<bool(NodeId)> acceptable_leader;
  std::function<DirectoryId(NodeId)> default_directory;
  image::MetadataVersion version;
  int32_t min_isr = 1;
  bool elr_enabled = false;
};

std::optional<MetadataRecord> change_partition(const PartitionKey& key, const PartitionState& now, PartitionTarget target, const PartitionRules& rules);

// What a reassignment to `target` begins with: the new replicas come first, the old ones stay until these are in sync.
struct Reassignment {
  NodeIds replicas;
  NodeIds removing;
  NodeIds adding;
};
Reassignment reassignment_to(const PartitionState& now, const NodeIds& target);

}  // namespace castellan::controller

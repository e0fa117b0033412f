// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The set of replicas that elect and commit. A value: changes make a new set (KIP-853, one voter at a time).

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "raft/types.h"

namespace castellan::raft {

struct Voter {
  ReplicaKey key;
  Endpoints endpoints;
  VersionRange kraft_version;

  friend bool operator==(const Voter&, const Voter&) = default;
};

class VoterSet {
 public:
  VoterSet() = default;
  explicit VoterSet(const std::vector<Voter>& voters);

  bool empty() const { return voters_.empty(); }
  size_t size() const { return voters_.size(); }
  // Half and one more.
  size_t majority() const;

  const Voter* find(NodeId id) const;
  // The id is in the set, and its directory is not known there or equal.
  bool contains(ReplicaKey key) const;
  bool is_only_voter(ReplicaKey key) const { return size() == 1 && contains(key); }
  // Where `id` answers on `listener`.
  std::optional<Endpoint> endpoint(NodeId id, const std::string& listener) const;
  bool all_support(int16_t kraft_version) const;

  // The new set; nothing when the id is there already.
  std::optional<VoterSet> with(Voter voter) const;
  // Nothing when the key is not in the set, or is the last one.
  std::optional<VoterSet> without(ReplicaKey key) const;
  // Nothing when the set has no voter with this key.
  std::optional<VoterSet> with_update(Voter voter) const;
  // The same by node id alone: which directory is the node's is what it tells.
  std::optional<VoterSet> with_update_of_node(Voter voter) const;

  // Ordered by id.
  auto begin() const { return voters_.begin(); }
  auto end() const { return voters_.end(); }

  friend bool operator==(const VoterSet&, const VoterSet&) = default;

 private:
  std::map<NodeId, Voter> voters_;
};

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The committed offsets of one shard, and those of transactions that are still open. Plain data: who may write what is
// decided elsewhere. Ordered, so that answers and tombstones come in one order on every run.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/uuid.h"

namespace castellan::group {

struct OffsetAndMetadata {
  int64_t offset = -1;
  int32_t leader_epoch = -1;
  std::string metadata;
  int64_t commit_timestamp = -1;
  int64_t expire_timestamp = -1;  // -1: by the retention that is configured
  Uuid topic_id;                  // zero: written before v10 of OffsetCommit
  int64_t record_offset = -1;     // where its record lies; -1 while its append is under way (later than any that is known)

  friend bool operator==(const OffsetAndMetadata&, const OffsetAndMetadata&) = default;
};

struct OffsetKey {
  std::string group;
  std::string topic;
  int32_t partition = 0;

  friend auto operator<=>(const OffsetKey&, const OffsetKey&) = default;
};

using PartitionOffsets = std::map<int32_t, OffsetAndMetadata>;
using TopicOffsets = std::map<std::string, PartitionOffsets>;

class Offsets {
 public:
  // A transaction's offsets for one key that a tombstone took away.
  struct Pending {
    int64_t producer_id = -1;
    OffsetAndMetadata value;
  };

  const OffsetAndMetadata* find(const OffsetKey& key) const;
  // All offsets of a group, nullptr when it has none.
  const TopicOffsets* find_group(const std::string& group) const;
  const std::map<std::string, TopicOffsets>& all() const { return by_group_; }

  // Each answers what was there before.
  std::optional<OffsetAndMetadata> put(const OffsetKey& key, OffsetAndMetadata value);
  std::optional<OffsetAndMetadata> remove(const OffsetKey& key);

  // Transactions: offsets that become visible when the producer's marker says commit (KIP-98).
  void put_pending(int64_t producer_id, const OffsetKey& key, OffsetAndMetadata value);
  std::vector<Pending> remove_pending(const OffsetKey& key);
  bool has_pending(const OffsetKey& key) const { return pending_producers_.contains(key); }
  bool has_pending_in_group(const std::string& group) const;
  std::vector<OffsetKey> pending_keys(const std::string& group) const;
  const std::map<int64_t, std::map<OffsetKey, OffsetAndMetadata>>& pending() const { return pending_; }
  // The marker: its offsets become the committed ones, unless a later record has overtaken them, or are forgotten.
  void end_transaction(int64_t producer_id, bool commit);

  bool group_is_empty(const std::string& group) const { return !by_group_.contains(group) && !has_pending_in_group(group); }

 private:
  std::map<std::string, TopicOffsets> by_group_;
  std::map<int64_t, std::map<OffsetKey, OffsetAndMetadata>> pending_;
  std::map<OffsetKey, std::set<int64_t>> pending_producers_;
};

}  // namespace castellan::group

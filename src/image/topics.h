// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Topics, their partitions, and the indexes over them. Only image/apply_topics.cc changes them, so that the indexes
// always agree with the partitions (image/invariants.h).
//
//   const Topic* topic = image.topics.by_name("orders");
//   const Partition* partition = topic->partition(3);
//   for (const auto& [key, nothing] : image.topics.of_broker(NodeId{1})) ...   // what broker 1 has a part in
//
// To see what changed: diff(old.topics.by_id, new.topics.by_id, ...) and then the partitions of a changed topic, or
// diff_partitions below.

#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/persistent_map.h"
#include "image/partition.h"

namespace castellan::image {

struct PartitionKey {
  TopicId topic;
  int32_t partition = 0;

  friend auto operator<=>(const PartitionKey&, const PartitionKey&) = default;
  // The same order, said so that it costs one comparison where ids differ: looking up a place in an index is most of what a new
  // partition costs.
  friend bool operator<(const PartitionKey& a, const PartitionKey& b) {
    if (a.topic.value.high != b.topic.value.high) return a.topic.value.high < b.topic.value.high;
    if (a.topic.value.low != b.topic.value.low) return a.topic.value.low < b.topic.value.low;
    return a.partition < b.partition;
  }
};
using PartitionSet = PersistentSet<PartitionKey>;

struct Topic {
  std::string name;
  TopicId id;
  PersistentMap<int32_t, Partition> partitions;

  const Partition* partition(int32_t index) const { return partitions.find(index); }

  friend bool operator==(const Topic&, const Topic&) = default;
};

struct Topics {
  PersistentMap<TopicId, Topic> by_id;
  PersistentMap<std::string, TopicId> ids;

  // Indexes.
  PersistentMap<NodeId, PartitionSet> of_brokers;                // in its replicas, ISR or ELR
  PartitionSet leaderless;
  PartitionSet imbalanced;                                       // led by another than the first replica, or by none
  PartitionSet reassigning;
  PersistentSet<std::pair<std::string, std::string>> colliding;  // (name with '.' as '_', name) of names with either

  int64_t partition_count = 0;

  const Topic* topic(TopicId id) const { return by_id.find(id); }
  const Topic* by_name(std::string_view name) const;
  const Partition* partition(const PartitionKey& key) const;
  const Partition* partition(std::string_view topic_name, int32_t index) const;
  const PartitionSet& of_broker(NodeId broker) const;
};

// '.' and '_' are one character in the names of metrics, so two names that differ only there collide.
bool has_collision_characters(std::string_view name);
std::string unify_collision_characters(std::string_view name);

// change(topic, key, before, after): each partition that one of the two lacks, or that differs. `topic` is the newer one
// where there is one. In the order of topic ids.
using PartitionChangeFunction = std::function<void(const Topic& topic, const PartitionKey& key, const Partition* before, const Partition* after)>;
void diff_partitions(const Topics& before, const Topics& after, const PartitionChangeFunction& change);

}  // namespace castellan::image

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/topics.h"

#include <algorithm>

namespace castellan::image {

const Topic* Topics::by_name(std::string_view name) const {
  const TopicId* id = ids.find(name);
  return id == nullptr ? nullptr : by_id.find(*id);
}

const Partition* Topics::partition(const PartitionKey& key) const {
  const Topic* found = topic(key.topic);
  return found == nullptr ? nullptr : found->partition(key.partition);
}

const Partition* Topics::partition(std::string_view topic_name, int32_t index) const {
  const Topic* found = by_name(topic_name);
  return found == nullptr ? nullptr : found->partition(index);
}

const PartitionSet& Topics::of_broker(NodeId broker) const {
  static const PartitionSet none;
  const PartitionSet* found = of_brokers.find(broker);
  return found == nullptr ? none : *found;
}

bool has_collision_characters(std::string_view name) { return name.find_first_of("._") != std::string_view::npos; }

std::string unify_collision_characters(std::string_view name) {
  std::string unified(name);
  std::ranges::replace(unified, '.', '_');
  return unified;
}

void diff_partitions(const Topics& before, const Topics& after, const PartitionChangeFunction& change) {
  static const PersistentMap<int32_t, Partition> none;
  diff(before.by_id, after.by_id, [&](TopicId id, const Topic* old_topic, const Topic* new_topic) {
    const Topic& topic = new_topic != nullptr ? *new_topic : *old_topic;
    diff(old_topic == nullptr ? none : old_topic->partitions, new_topic == nullptr ? none : new_topic->partitions,
         [&](int32_t index, const Partition* old_partition, const Partition* new_partition) {
           change(topic, PartitionKey{id, index}, old_partition, new_partition);
         });
  });
}

}  // namespace castellan::image

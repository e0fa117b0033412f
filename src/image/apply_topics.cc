// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Records about topics and partitions, and the indexes that follow them.

#include <algorithm>

#include "config/alter.h"
#include "image/apply.h"

namespace castellan::image {

namespace {

std::vector<NodeId> nodes(const std::vector<int32_t>& ids) {
  std::vector<NodeId> all;
  all.reserve(ids.size());
  for (int32_t id : ids) all.emplace_back(id);
  return all;
}

std::vector<NodeId> nodes(const std::optional<std::vector<int32_t>>& ids) { return ids ? nodes(*ids) : std::vector<NodeId>{}; }

std::vector<DirectoryId> directories_of(const std::vector<Uuid>& from) {
  std::vector<DirectoryId> all;
  all.reserve(from.size());
  for (const Uuid& id : from) all.emplace_back(id);
  return all;
}

void put(PartitionSet& set, const PartitionKey& key, bool is_in, bool was_in) {
  if (is_in == was_in) return;
  if (is_in) set.set(key, {});
  else set.erase(key);
}

// Who has a part in it: replicas, and the members of the ISR and of the ELR, which are replicas but in odd logs.
template <class Function>
void for_each_member(const Partition& partition, Function&& function) {
  for (NodeId id : partition.replicas()) function(id);
  for (const auto list : {partition.isr(), partition.elr()}) {
    for (NodeId id : list) {
      if (!contains(partition.replicas(), id)) function(id);
    }
  }
}

bool is_member(const Partition& partition, NodeId id) {
  return contains(partition.replicas(), id) || contains(partition.isr(), id) || contains(partition.elr(), id);
}

void update_indexes(Topics& topics, const PartitionKey& key, const Partition* before, const Partition* after) {
  const auto is = [](const Partition* partition, auto&& test) { return partition != nullptr && test(*partition); };
  const auto leaderless = [](const Partition& p) { return p.leader() == no_node; };
  const auto imbalanced = [](const Partition& p) { return !p.has_preferred_leader(); };
  const auto reassigning = [](const Partition& p) { return p.is_reassigning(); };
  put(topics.leaderless, key, is(after, leaderless), is(before, leaderless));
  put(topics.imbalanced, key, is(after, imbalanced), is(before, imbalanced));
  put(topics.reassigning, key, is(after, reassigning), is(before, reassigning));
  if (before != nullptr) {
    for_each_member(*before, [&](NodeId id) {
      if (after != nullptr && is_member(*after, id)) return;
      PartitionSet* set = topics.of_brokers.mutate(id);
      if (set == nullptr) return;
      set->erase(key);
      if (set->empty()) topics.of_brokers.erase(id);
    });
  }
  if (after != nullptr) {
    for_each_member(*after, [&](NodeId id) {
      if (before == nullptr || !is_member(*before, id)) topics.of_brokers[id].set(key, {});
    });
  }
}

void set_partition(Topics& topics, Topic& topic, int32_t index, Partition packed) {
  const PartitionKey key{topic.id, index};
  const Partition* before = topic.partition(index);
  if (before == nullptr) ++topics.partition_count;
  update_indexes(topics, key, before, &packed);
  topic.partitions.set(index, std::move(packed));
}

Result<Topic*> topic_to_change(Topics& topics, const Uuid& id) {
  Topic* topic = topics.by_id.mutate(TopicId(id));
  if (topic == nullptr) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "there is no topic with id {}", id);
  return topic;
}

void clear_elr(Topics& topics, TopicId id) {
  std::vector<int32_t> affected;
  for (const auto& [index, partition] : topics.topic(id)->partitions) {
    if (!partition.elr().empty() || !partition.last_known_elr().empty()) affected.push_back(index);
  }
  if (affected.empty()) return;
  Topic& topic = *topics.by_id.mutate(id);
  for (int32_t index : affected) {
    wire::PartitionChangeRecord change;
    change.eligible_leader_replicas.emplace();
    change.last_known_elr.emplace();
    set_partition(topics, topic, index, Partition(merge(topic.partition(index)->state(), change)));
  }
}

}  // namespace

PartitionState merge(PartitionState partition, const wire::PartitionChangeRecord& change) {
  if (change.replicas) {
    // Directories stay by position: whoever changes what they say writes them. Only "all migrating", which is how releases
    // before 3.7-IV2 left them, fits any number of replicas.
    const bool all_migrating = std::ranges::all_of(partition.directories, [](DirectoryId id) { return id == directory_migrating; });
    partition.replicas = nodes(*change.replicas);
    if (all_migrating) partition.directories.assign(partition.replicas.size(), directory_migrating);
  }
  if (change.directories) partition.directories = directories_of(*change.directories);
  if (change.isr) partition.isr = nodes(*change.isr);
  if (change.removing_replicas) partition.removing = nodes(*change.removing_replicas);
  if (change.adding_replicas) partition.adding = nodes(*change.adding_replicas);
  if (change.eligible_leader_replicas) partition.elr = nodes(*change.eligible_leader_replicas);
  if (change.last_known_elr) partition.last_known_elr = nodes(*change.last_known_elr);
  if (change.leader != -2) {
    partition.leader = NodeId(change.leader);
    partition.leader_epoch = partition.leader_epoch + 1;
  }
  if (change.leader_recovery_state != -1) partition.recovery = static_cast<LeaderRecoveryState>(change.leader_recovery_state);
  ++partition.partition_epoch;
  return partition;
}

namespace records {

Result<void> apply(Image& image, const wire::TopicRecord& record, Offset) {
  const TopicId id(record.topic_id);
  if (const TopicId* there = image.topics.ids.find(record.name)) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "topic {} is there already, with id {}", record.name, *there);
  }
  if (image.topics.topic(id) != nullptr) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "topic id {} is taken", id);
  image.topics.ids.set(record.name, id);
  image.topics.by_id.set(id, {.name = record.name, .id = id});
  if (has_collision_characters(record.name)) image.topics.colliding.set({unify_collision_characters(record.name), record.name}, {});
  return {};
}

Result<void> apply(Image& image, const wire::PartitionRecord& record, Offset) {
  TRY(Topic* topic, topic_to_change(image.topics, record.topic_id));
  if (!record.directories.empty() && record.directories.size() != record.replicas.size()) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "partition {} of {} has {} replicas but {} directories", record.partition_id, topic->name,
                record.replicas.size(), record.directories.size());
  }
  if (record.leader_recovery_state < 0 || record.leader_recovery_state > 1) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "unknown leader recovery state {}", record.leader_recovery_state);
  }
  const auto list = [](const std::optional<std::vector<int32_t>>& ids) { return ids ? std::span<const int32_t>(*ids) : std::span<const int32_t>(); };
  set_partition(image.topics, *topic, record.partition_id,
                Partition(PartitionLists{.replicas = record.replicas,
                                         .directories = record.directories,
                                         .isr = record.isr,
                                         .removing = record.removing_replicas,
                                         .adding = record.adding_replicas,
                                         .elr = list(record.eligible_leader_replicas),
                                         .last_known_elr = list(record.last_known_elr),
                                         .leader = NodeId(record.leader),
                                         .recovery = static_cast<LeaderRecoveryState>(record.leader_recovery_state),
                                         .leader_epoch = Epoch(record.leader_epoch),
                                         .partition_epoch = record.partition_epoch}));
  return {};
}

Result<void> apply(Image& image, const wire::PartitionChangeRecord& record, Offset) {
  TRY(Topic* topic, topic_to_change(image.topics, record.topic_id));
  const Partition* before = topic->partition(record.partition_id);
  if (before == nullptr) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "topic {} has no partition {}", topic->name, record.partition_id);
  if (record.leader_recovery_state < -1 || record.leader_recovery_state > 1) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "unknown leader recovery state {}", record.leader_recovery_state);
  }
  PartitionState after = merge(before->state(), record);
  if (!after.directories.empty() && after.directories.size() != after.replicas.size()) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "partition {} of {} would have {} replicas but {} directories", record.partition_id, topic->name,
                after.replicas.size(), after.directories.size());
  }
  set_partition(image.topics, *topic, record.partition_id, Partition(after));
  return {};
}

Result<void> apply(Image& image, const wire::RemoveTopicRecord& record, Offset) {
  const TopicId id(record.topic_id);
  const Topic* found = image.topics.topic(id);
  if (found == nullptr) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "there is no topic with id {}", id);
  const Topic topic = *found;
  for (const auto& [index, partition] : topic.partitions) update_indexes(image.topics, {id, index}, &partition, nullptr);
  image.topics.partition_count -= static_cast<int64_t>(topic.partitions.size());
  if (has_collision_characters(topic.name)) image.topics.colliding.erase(std::pair(unify_collision_characters(topic.name), topic.name));
  image.topics.ids.erase(topic.name);
  image.topics.by_id.erase(id);
  image.configs.resources.erase(ConfigResource{static_cast<int8_t>(config::ResourceType::TOPIC), topic.name});
  return {};
}

Result<void> apply(Image& image, const wire::ClearElrRecord& record, Offset) {
  if (!record.topic_name.empty()) {
    const TopicId* id = image.topics.ids.find(record.topic_name);
    if (id == nullptr) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "there is no topic {} whose eligible leader replicas could be cleared", record.topic_name);
    clear_elr(image.topics, TopicId(*id));
    return {};
  }
  std::vector<TopicId> all;
  for (const auto& [id, topic] : image.topics.by_id) all.push_back(id);
  for (TopicId id : all) clear_elr(image.topics, id);
  return {};
}

}  // namespace records

}  // namespace castellan::image

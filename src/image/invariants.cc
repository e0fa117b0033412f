// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/invariants.h"

#include <map>
#include <set>

#include "image/apply.h"
#include "image/snapshot.h"

namespace castellan::image {

namespace {

template <class... Args>
std::unexpected<Error> broken(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::UNKNOWN_SERVER_ERROR, format, std::forward<Args>(args)...);
}

Result<void> check_topics(const Topics& topics) {
  Topics expected;
  if (topics.ids.size() != topics.by_id.size()) return broken("{} topic names for {} topics", topics.ids.size(), topics.by_id.size());
  for (const auto& [id, topic] : topics.by_id) {
    const TopicId* by_name = topics.ids.find(topic.name);
    if (topic.id != id || by_name == nullptr || *by_name != id) return broken("topic {} is not found by its name under {}", topic.name, id);
    if (has_collision_characters(topic.name)) expected.colliding.set({unify_collision_characters(topic.name), topic.name}, {});
    for (const auto& [index, partition] : topic.partitions) {
      const PartitionKey key{id, index};
      ++expected.partition_count;
      if (partition.leader() == no_node) expected.leaderless.set(key, {});
      if (!partition.has_preferred_leader()) expected.imbalanced.set(key, {});
      if (partition.is_reassigning()) expected.reassigning.set(key, {});
      for (const auto list : {partition.replicas(), partition.isr(), partition.elr()}) {
        for (NodeId node : list) expected.of_brokers[node].set(key, {});
      }
    }
  }
  if (topics.partition_count != expected.partition_count) return broken("{} partitions are counted, {} are there", topics.partition_count, expected.partition_count);
  if (!(topics.colliding == expected.colliding)) return broken("the index of colliding names");
  if (!(topics.leaderless == expected.leaderless)) return broken("the index of leaderless partitions");
  if (!(topics.imbalanced == expected.imbalanced)) return broken("the index of imbalanced partitions");
  if (!(topics.reassigning == expected.reassigning)) return broken("the index of reassignments");
  if (!(topics.of_brokers == expected.of_brokers)) return broken("the index of partitions by broker");
  return {};
}

Result<void> check_cluster(const Cluster& cluster) {
  PersistentMap<DirectoryId, NodeId> expected;
  for (const auto& [id, broker] : cluster.brokers) {
    if (broker.id != id) return broken("broker {} is kept as {}", broker.id, id);
    if (cluster.registration_offsets.find(id) == nullptr) return broken("broker {} has no registration offset", id);
    for (DirectoryId directory : broker.log_dirs) {
      if (!expected.set(directory, id)) return broken("directory {} belongs to two brokers", directory);
    }
  }
  if (!(cluster.directory_owners == expected)) return broken("the index of directories");
  return {};
}

Result<void> check_snapshot(const Image& image) {
  Image again;
  Result<void> applied;
  const auto losses = snapshot_records(image, [&](const MetadataRecord& record) {
    if (!applied) return;
    const auto decoded = decode_metadata_record(encode_metadata_record(record));
    if (decoded) applied = apply(again, *decoded, Offset{0});
    else applied = unexpected(decoded.error());
  });
  if (!applied) return broken("its snapshot cannot be read: {}", applied.error().message);
  if (losses.empty() && !(again == image)) return broken("its snapshot is another image");
  return {};
}

Result<void> check_partition(const Partition& partition, bool elr_enabled) {
  const std::set<NodeId> replicas(partition.replicas().begin(), partition.replicas().end());
  if (replicas.size() != partition.replicas().size()) return broken("a replica twice");
  const auto all_in = [&](std::span<const NodeId> nodes) { return std::ranges::all_of(nodes, [&](NodeId node) { return replicas.contains(node); }); };
  if (!all_in(partition.isr()) || !all_in(partition.adding()) || !all_in(partition.removing())) return broken("a member that is no replica");
  for (NodeId node : partition.elr()) {
    if (contains(partition.isr(), node)) return broken("broker {} is in the ISR and in the ELR", node);
  }
  if (partition.leader() != no_node && !contains(partition.isr(), partition.leader())) return broken("the leader {} is not in the ISR", partition.leader());
  if (partition.isr().empty() && !elr_enabled) return broken("the ISR is empty");
  return {};
}

}  // namespace

Result<void> check_invariants(const Image& image) {
  TRY_VOID(check_topics(image.topics));
  TRY_VOID(check_cluster(image.cluster));
  return check_snapshot(image);
}

Result<void> check_partition_invariants(const Image& image) {
  for (const auto& [id, topic] : image.topics.by_id) {
    for (const auto& [index, partition] : topic.partitions) {
      const auto checked = check_partition(partition, image.features.elr_enabled());
      if (!checked) return broken("{}-{}: {}", topic.name, index, checked.error().message);
    }
  }
  return {};
}

}  // namespace castellan::image

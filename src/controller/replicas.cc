// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/replicas.h"

#include <algorithm>

namespace castellan::controller {

namespace {


template <class Test>
std::vector<PartitionKey> partitions_of(const Context& context, NodeId broker, Test&& test) {
  std::vector<PartitionKey> keys;
  for (const auto& [key, nothing] : context.image.topics.of_broker(broker)) {
    if (test(*context.image.topics.partition(key))) keys.push_back(key);
  }
  return keys;
}

wire::BrokerRegistrationChangeRecord registration_change(const image::BrokerRegistration& broker) {
  wire::BrokerRegistrationChangeRecord record;
  record.broker_id = broker.id.value;
  record.broker_epoch = broker.epoch.value;
  return record;
}

}  // namespace

DirectoryId default_directory(const Context& context, NodeId id) {
  if (!context.metadata_version().directory_assignment_supported()) return directory_migrating;
  const image::BrokerRegistration* broker = context.image.cluster.broker(id);
  if (broker == nullptr) return directory_unassigned;
  if (broker->log_dirs.empty()) return directory_migrating;
  return broker->log_dirs.size() == 1 ? broker->log_dirs.front() : directory_unassigned;
}

PartitionRules rules_for(const Context& context, const image::Topic& topic, const PartitionState& partition) {
  return {.acceptable_leader =
              [&context, &partition](NodeId id) {
                const image::BrokerRegistration* broker = context.image.cluster.broker(id);
                if (broker == nullptr || !broker->active()) return false;
                for (size_t i = 0; i < partition.directories.size(); ++i) {
                  if (partition.replicas[i] == id) return broker->has_online_directory(partition.directories[i]);
                }
                return true;
              },
          .default_directory = [&context](NodeId id) { return default_directory(context, id); },
          .version = context.metadata_version(),
          .min_isr = effective_min_isr(context, topic),
          .elr_enabled = context.elr_enabled()};
}

void append_leader_and_isr_changes(const Context& context, std::span<const PartitionKey> partitions, const BrokerGoing& going, MetadataRecords& records) {
  for (const PartitionKey& key : partitions) {
    const image::Topic& topic = *context.image.topics.topic(key.topic);
    const PartitionState now = topic.partition(key.partition)->state();
    PartitionRules rules = rules_for(context, topic, now);
    rules.acceptable_leader = [&](NodeId id) {
      if (id == going.removed || id == going.unclean_shutdown) return false;
      const image::BrokerRegistration* broker = context.image.cluster.broker(id);
      if (broker == nullptr || (id != going.added && !broker->active())) return false;
      for (size_t i = 0; i < now.directories.size(); ++i) {
        if (now.replicas[i] == id) return broker->has_online_directory(now.directories[i]);
      }
      return true;
    };
    PartitionTarget target(now);
    if (unclean_election_enabled(context, topic.name)) target.election = Election::UNCLEAN;
    if (going.unclean_shutdown != no_node) target.unclean_shutdown = {going.unclean_shutdown};
    std::erase_if(target.isr, [&](NodeId id) { return id == going.removed || id == going.unclean_shutdown; });
    if (auto record = change_partition(key, now, std::move(target), rules)) records.push_back(std::move(*record));
  }
}

std::vector<PartitionKey> partitions_with_isr_member(const Context& context, NodeId broker) {
  return partitions_of(context, broker, [&](const image::Partition& partition) { return image::contains(partition.isr(), broker); });
}

std::vector<PartitionKey> partitions_with_elr_member(const Context& context, NodeId broker) {
  return partitions_of(context, broker, [&](const image::Partition& partition) { return image::contains(partition.elr(), broker); });
}

std::vector<PartitionKey> partitions_in_directory(const Context& context, NodeId broker, DirectoryId directory) {
  return partitions_of(context, broker, [&](const image::Partition& partition) {
    return image::contains(partition.replicas(), broker) && partition.directory_of(broker) == directory;
  });
}

bool leads_something(const Context& context, NodeId broker) {
  for (const auto& [key, nothing] : context.image.topics.of_broker(broker)) {
    if (context.image.topics.partition(key)->leader() == broker) return true;
  }
  return false;
}

void append_broker_fenced(const Context& context, const image::BrokerRegistration& broker, MetadataRecords& records) {
  append_leader_and_isr_changes(context, partitions_with_isr_member(context, broker.id), {.removed = broker.id}, records);
  auto record = registration_change(broker);
  record.fenced = 1;
  add(records, std::move(record));
}

void append_broker_unfenced(const Context& context, const image::BrokerRegistration& broker, MetadataRecords& records) {
  auto record = registration_change(broker);
  record.fenced = -1;
  add(records, std::move(record));
  std::vector<PartitionKey> leaderless;
  for (const auto& [key, nothing] : context.image.topics.leaderless) leaderless.push_back(key);
  append_leader_and_isr_changes(context, leaderless, {.added = broker.id}, records);
}

void append_broker_in_controlled_shutdown(const Context& context, const image::BrokerRegistration& broker, MetadataRecords& records) {
  if (!broker.in_controlled_shutdown) {
    auto record = registration_change(broker);
    record.in_controlled_shutdown = 1;
    add(records, std::move(record), 1);
  }
  append_leader_and_isr_changes(context, partitions_with_isr_member(context, broker.id), {.removed = broker.id}, records);
}

void append_broker_restarted(const Context& context, NodeId broker, bool clean, MetadataRecords& records) {
  if (context.elr_enabled() && !clean) {
    append_leader_and_isr_changes(context, partitions_with_isr_member(context, broker), {.unclean_shutdown = broker}, records);
    append_leader_and_isr_changes(context, partitions_with_elr_member(context, broker), {.unclean_shutdown = broker}, records);
  } else {
    append_leader_and_isr_changes(context, partitions_with_isr_member(context, broker), {.removed = broker}, records);
  }
}

void append_broker_unregistered(const Context& context, const image::BrokerRegistration& broker, MetadataRecords& records) {
  append_leader_and_isr_changes(context, partitions_with_isr_member(context, broker.id), {.removed = broker.id}, records);
  append_leader_and_isr_changes(context, partitions_with_elr_member(context, broker.id), {.removed = broker.id}, records);
  wire::UnregisterBrokerRecord record;
  record.broker_id = broker.id.value;
  record.broker_epoch = broker.epoch.value;
  add(records, std::move(record));
}

void append_directories_offline(const Context& context, const image::BrokerRegistration& broker, const std::vector<Uuid>& offline, MetadataRecords& records) {
  std::vector<Uuid> remaining;
  bool lost = false;
  for (DirectoryId id : broker.log_dirs) {
    if (std::ranges::find(offline, id.value) == offline.end()) {
      remaining.push_back(id.value);
      continue;
    }
    lost = true;
    append_leader_and_isr_changes(context, partitions_in_directory(context, broker.id, id), {.removed = broker.id}, records);
  }
  if (!lost) return;
  auto record = registration_change(broker);
  record.log_dirs = std::move(remaining);
  add(records, std::move(record), 2);
}

}  // namespace castellan::controller

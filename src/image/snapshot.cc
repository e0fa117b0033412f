// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/snapshot.h"

#include "image/endpoints.h"

#include <algorithm>

namespace castellan::image {

namespace {

std::vector<int32_t> plain(const std::vector<NodeId>& nodes) {
  std::vector<int32_t> ids;
  ids.reserve(nodes.size());
  for (NodeId node : nodes) ids.push_back(node.value);
  return ids;
}

std::vector<Uuid> plain(const std::vector<DirectoryId>& directories) {
  std::vector<Uuid> ids;
  ids.reserve(directories.size());
  for (DirectoryId id : directories) ids.push_back(id.value);
  return ids;
}

template <class To>
std::vector<To> features_as(const SupportedFeatures& from) {
  std::vector<To> to;
  for (const auto& [name, range] : from) {
    To& out = to.emplace_back();
    out.name = name;
    out.min_supported_version = range.min;
    out.max_supported_version = range.max;
  }
  return to;
}

void assign(std::vector<int32_t>& ids, std::span<const NodeId> nodes) {
  ids.clear();
  for (NodeId node : nodes) ids.push_back(node.value);
}

void assign(std::optional<std::vector<int32_t>>& ids, std::span<const NodeId> nodes) {
  ids.reset();
  if (!nodes.empty()) assign(ids.emplace(), nodes);
}

// partition_record, into a record whose memory is used again: a snapshot has a million of them.
void fill(wire::PartitionRecord& record, const PartitionKey& key, const Partition& partition, MetadataVersion version, bool elr_enabled) {
  record.partition_id = key.partition;
  record.topic_id = key.topic.value;
  assign(record.replicas, partition.replicas());
  assign(record.isr, partition.isr());
  assign(record.removing_replicas, partition.removing());
  assign(record.adding_replicas, partition.adding());
  record.leader = partition.leader().value;
  record.leader_recovery_state = static_cast<int8_t>(partition.recovery());
  record.leader_epoch = partition.leader_epoch().value;
  record.partition_epoch = partition.partition_epoch();
  record.directories.clear();
  if (version.directory_assignment_supported()) {
    for (size_t i = 0; i < record.replicas.size(); ++i) record.directories.push_back(partition.directory(i).value);
  }
  const bool with_elr = elr_enabled && version.elr_supported();
  assign(record.eligible_leader_replicas, with_elr ? partition.elr() : std::span<const NodeId>());
  assign(record.last_known_elr, with_elr ? partition.last_known_elr() : std::span<const NodeId>());
}

class Snapshot {
 public:
  Snapshot(const Image& image, const RecordSink& sink) : image_(image), sink_(sink), version_(image.features.version_or_minimum()) {
    partition_record_ = {.version = version_.partition_record_version(), .message = wire::PartitionRecord()};
  }

  std::vector<std::string> write() {
    features();
    cluster();
    topics();
    configs();
    client_quotas();
    if (image_.next_producer_id >= 0) {
      wire::ProducerIdsRecord record;
      record.broker_id = -1;
      record.next_producer_id = image_.next_producer_id;
      put(std::move(record));
    }
    acls();
    scram();
    delegation_tokens();
    return std::move(losses_);
  }

 private:
  void put(wire::AnyMetadataRecord message) { sink_({.version = 0, .message = std::move(message)}); }
  void lose(std::string what) {
    losses_.push_back(fmt::format("metadata.version {} cannot hold {}", version_.name(), what));
  }

  void features() {
    if (image_.features.metadata_version) put_feature(metadata_version_feature, version_.level());  // first: readers need it for the rest
    for (const auto& [name, level] : image_.features.levels) put_feature(name, level);
  }

  void put_feature(std::string_view name, int16_t level) {
    wire::FeatureLevelRecord record;
    record.name = name;
    record.feature_level = level;
    put(std::move(record));
  }

  void cluster() {
    for (const auto& [id, broker] : image_.cluster.brokers) {
      sink_(broker_record(broker, version_));
      if (broker.cordoned_log_dirs && !version_.cordoned_log_dirs_supported()) lose(fmt::format("the cordoned log directories of broker {}", id));
      if (!broker.log_dirs.empty() && !version_.directory_assignment_supported()) lose(fmt::format("the log directories of broker {}", id));
      if (broker.is_migrating_zk_broker && !version_.migration_supported()) lose(fmt::format("that broker {} is migrating", id));
    }
    for (const auto& [id, controller] : image_.cluster.controllers) {
      if (version_.controller_registration_supported()) sink_(controller_record(controller));
      else lose(fmt::format("the registration of controller {}", id));
    }
  }

  void topics() {
    const bool elr_enabled = image_.features.elr_enabled();
    for (const auto& [id, topic] : image_.topics.by_id) {
      wire::TopicRecord record;
      record.name = topic.name;
      record.topic_id = id.value;
      put(std::move(record));
      for (const auto& [index, partition] : topic.partitions) {
        fill(std::get<wire::PartitionRecord>(partition_record_.message), {id, index}, partition, version_, elr_enabled);
        sink_(partition_record_);
        if (!version_.directory_assignment_supported() && partition.directories() != std::vector(partition.replicas().size(), directory_migrating)) {
          lose(fmt::format("the directories of {}-{}", topic.name, index));
        }
      }
    }
  }

  void configs() {
    for (const auto& [resource, settings] : image_.configs.resources) {
      for (const auto& [name, value] : *settings.map) {
        wire::ConfigRecord record;
        record.resource_type = resource.type;
        record.resource_name = resource.name;
        record.name = name;
        record.value = value;
        put(std::move(record));
      }
    }
  }

  void client_quotas() {
    for (const auto& [entity, quotas] : image_.client_quotas) {
      for (const auto& [key, value] : quotas) {
        wire::ClientQuotaRecord record;
        for (const auto& [type, name] : entity) {
          auto& part = record.entity.emplace_back();
          part.entity_type = type;
          part.entity_name = name;
        }
        record.key = key;
        record.value = value;
        put(std::move(record));
      }
    }
  }

  void acls() {
    for (const auto& [id, acl] : image_.acls) {
      wire::AccessControlEntryRecord record;
      record.id = id;
      record.resource_type = acl.resource_type;
      record.resource_name = acl.resource_name;
      record.pattern_type = acl.pattern_type;
      record.principal = acl.principal;
      record.host = acl.host;
      record.operation = acl.operation;
      record.permission_type = acl.permission_type;
      put(std::move(record));
    }
  }

  void scram() {
    if (!version_.scram_supported() && !image_.scram.empty()) return lose("SCRAM credentials");
    for (const auto& [user, credential] : image_.scram) {
      wire::UserScramCredentialRecord record;
      record.name = user.name;
      record.mechanism = user.mechanism;
      record.salt = credential.salt;
      record.stored_key = credential.stored_key;
      record.server_key = credential.server_key;
      record.iterations = credential.iterations;
      put(std::move(record));
    }
  }

  void delegation_tokens() {
    if (!version_.delegation_tokens_supported() && !image_.delegation_tokens.empty()) return lose("delegation tokens");
    for (const auto& [id, token] : image_.delegation_tokens) {
      wire::DelegationTokenRecord record;
      record.owner = token.owner;
      record.requester = token.requester;
      record.renewers = token.renewers;
      record.issue_timestamp = token.issued.milliseconds;
      record.max_timestamp = token.max.milliseconds;
      record.expiration_timestamp = token.expires.milliseconds;
      record.token_id = id;
      put(std::move(record));
    }
  }

  const Image& image_;
  const RecordSink& sink_;
  const MetadataVersion version_;
  MetadataRecord partition_record_;
  std::vector<std::string> losses_;
};

}  // namespace

std::vector<std::string> snapshot_records(const Image& image, const RecordSink& sink) { return Snapshot(image, sink).write(); }

MetadataRecord partition_record(const PartitionKey& key, const PartitionState& state, MetadataVersion version, bool elr_enabled) {
  wire::PartitionRecord record;
  record.partition_id = key.partition;
  record.topic_id = key.topic.value;
  record.replicas = plain(state.replicas);
  record.isr = plain(state.isr);
  record.removing_replicas = plain(state.removing);
  record.adding_replicas = plain(state.adding);
  record.leader = state.leader.value;
  record.leader_recovery_state = static_cast<int8_t>(state.recovery);
  record.leader_epoch = state.leader_epoch.value;
  record.partition_epoch = state.partition_epoch;
  if (version.directory_assignment_supported()) {
    record.directories = plain(state.directories);
    if (record.directories.empty()) record.directories.resize(state.replicas.size(), directory_migrating.value);
  }
  if (elr_enabled && version.elr_supported()) {
    if (!state.elr.empty()) record.eligible_leader_replicas = plain(state.elr);
    if (!state.last_known_elr.empty()) record.last_known_elr = plain(state.last_known_elr);
  }
  return {.version = version.partition_record_version(), .message = std::move(record)};
}

MetadataRecord broker_record(const BrokerRegistration& broker, MetadataVersion version) {
  wire::RegisterBrokerRecord record;
  record.broker_id = broker.id.value;
  record.is_migrating_zk_broker = broker.is_migrating_zk_broker && version.migration_supported();
  record.incarnation_id = broker.incarnation_id.value;
  record.broker_epoch = broker.epoch.value;
  record.end_points = endpoints_as<wire::RegisterBrokerRecord::BrokerEndpoint>(broker.endpoints);
  record.features = features_as<wire::RegisterBrokerRecord::BrokerFeature>(broker.features);
  record.rack = broker.rack;
  record.fenced = broker.fenced;
  record.in_controlled_shutdown = broker.in_controlled_shutdown;
  if (version.directory_assignment_supported()) record.log_dirs = plain(broker.log_dirs);
  if (version.cordoned_log_dirs_supported() && broker.cordoned_log_dirs) record.cordoned_log_dirs = plain(*broker.cordoned_log_dirs);
  return {.version = version.register_broker_record_version(), .message = std::move(record)};
}

MetadataRecord controller_record(const ControllerRegistration& controller) {
  wire::RegisterControllerRecord record;
  record.controller_id = controller.id.value;
  record.incarnation_id = controller.incarnation_id.value;
  record.zk_migration_ready = controller.zk_migration_ready;
  record.end_points = endpoints_as<wire::RegisterControllerRecord::ControllerEndpoint>(controller.endpoints);
  record.features = features_as<wire::RegisterControllerRecord::ControllerFeature>(controller.features);
  return {.version = 0, .message = std::move(record)};
}

}  // namespace castellan::image

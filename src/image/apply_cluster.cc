// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Records about brokers and controllers.

#include <algorithm>

#include "image/apply.h"

namespace castellan::image::records {

namespace {

template <class From>
std::vector<Endpoint> endpoints_of(const std::vector<From>& from) {
  std::vector<Endpoint> endpoints;
  for (const From& each : from) endpoints.push_back({each.name, each.host, each.port, each.security_protocol});
  return endpoints;
}

template <class From>
SupportedFeatures features_of(const std::vector<From>& from) {
  SupportedFeatures features;
  for (const From& each : from) features.insert_or_assign(each.name, SupportedRange{each.min_supported_version, each.max_supported_version});
  return features;
}

std::vector<DirectoryId> directories_of(const std::vector<Uuid>& from) {
  std::vector<DirectoryId> directories;
  for (const Uuid& id : from) directories.emplace_back(id);
  return directories;
}

void disown(Cluster& cluster, const BrokerRegistration& broker) {
  for (DirectoryId id : broker.log_dirs) {
    const NodeId* owner = cluster.directory_owners.find(id);
    if (owner != nullptr && *owner == broker.id) cluster.directory_owners.erase(id);
  }
}

Result<void> own(Cluster& cluster, const BrokerRegistration& broker) {
  for (DirectoryId id : broker.log_dirs) {
    const NodeId* owner = cluster.directory_owners.find(id);
    if (owner != nullptr && *owner != broker.id) {
      return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "log directory {} of broker {} is already that of broker {}", id, broker.id, *owner);
    }
    cluster.directory_owners.set(id, broker.id);
  }
  return {};
}

Result<BrokerRegistration*> broker_at_epoch(Image& image, int32_t id, int64_t epoch) {
  BrokerRegistration* broker = image.cluster.brokers.mutate(NodeId(id));
  if (broker == nullptr) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "broker {} is not registered", id);
  if (broker->epoch.value != epoch) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "broker {} has epoch {}, not {}", id, broker->epoch, epoch);
  }
  return broker;
}

}  // namespace

Result<void> apply(Image& image, const wire::RegisterBrokerRecord& record, Offset offset) {
  const NodeId id(record.broker_id);
  BrokerRegistration broker{.id = id,
                            .epoch = BrokerEpoch(record.broker_epoch),
                            .incarnation_id = IncarnationId(record.incarnation_id),
                            .endpoints = endpoints_of(record.end_points),
                            .features = features_of(record.features),
                            .rack = record.rack,
                            .fenced = record.fenced,
                            .in_controlled_shutdown = record.in_controlled_shutdown,
                            .is_migrating_zk_broker = record.is_migrating_zk_broker,
                            .log_dirs = directories_of(record.log_dirs)};
  std::ranges::sort(broker.log_dirs, directory_before);
  if (record.cordoned_log_dirs) broker.cordoned_log_dirs = directories_of(*record.cordoned_log_dirs);
  if (const BrokerRegistration* before = image.cluster.broker(id)) disown(image.cluster, *before);
  TRY_VOID(own(image.cluster, broker));
  image.cluster.brokers.set(id, std::move(broker));
  image.cluster.registration_offsets.set(id, offset);
  return {};
}

Result<void> apply(Image& image, const wire::UnregisterBrokerRecord& record, Offset) {
  TRY(const BrokerRegistration* broker, broker_at_epoch(image, record.broker_id, record.broker_epoch));
  disown(image.cluster, *broker);
  image.cluster.brokers.erase(NodeId(record.broker_id));
  image.cluster.registration_offsets.erase(NodeId(record.broker_id));
  return {};
}

Result<void> apply(Image& image, const wire::FenceBrokerRecord& record, Offset) {
  TRY(BrokerRegistration* broker, broker_at_epoch(image, record.id, record.epoch));
  broker->fenced = true;
  return {};
}

Result<void> apply(Image& image, const wire::UnfenceBrokerRecord& record, Offset) {
  TRY(BrokerRegistration* broker, broker_at_epoch(image, record.id, record.epoch));
  broker->fenced = false;
  return {};
}

Result<void> apply(Image& image, const wire::BrokerRegistrationChangeRecord& record, Offset) {
  if (record.fenced < -1 || record.fenced > 1) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "fenced is {}, not -1, 0 or 1", record.fenced);
  if (record.in_controlled_shutdown < 0 || record.in_controlled_shutdown > 1) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "inControlledShutdown is {}, not 0 or 1", record.in_controlled_shutdown);
  }
  TRY(BrokerRegistration* broker, broker_at_epoch(image, record.broker_id, record.broker_epoch));
  if (record.fenced != 0) broker->fenced = record.fenced == 1;
  if (record.in_controlled_shutdown == 1) broker->in_controlled_shutdown = true;
  if (record.cordoned_log_dirs) broker->cordoned_log_dirs = directories_of(*record.cordoned_log_dirs);
  if (!record.log_dirs.empty()) {  // an empty list cannot be told from none: the field is tagged
    disown(image.cluster, *broker);
    broker->log_dirs = directories_of(record.log_dirs);
    std::ranges::sort(broker->log_dirs, directory_before);
    TRY_VOID(own(image.cluster, *broker));
  }
  return {};
}

Result<void> apply(Image& image, const wire::RegisterControllerRecord& record, Offset) {
  const NodeId id(record.controller_id);
  image.cluster.controllers.set(id, {.id = id,
                                     .incarnation_id = IncarnationId(record.incarnation_id),
                                     .zk_migration_ready = record.zk_migration_ready,
                                     .endpoints = endpoints_of(record.end_points),
                                     .features = features_of(record.features)});
  return {};
}

Result<void> apply(Image& image, const wire::UnregisterControllerRecord& record, Offset) {
  if (!image.cluster.controllers.erase(NodeId(record.controller_id))) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "controller {} is not registered", record.controller_id);
  }
  return {};
}

}  // namespace castellan::image::records

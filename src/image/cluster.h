// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The nodes of a cluster as the metadata has them: registered brokers (KIP-631) and controllers (KIP-919).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/persistent_map.h"
#include "image/metadata_version.h"

namespace castellan::image {

// Kafka's order of ids: their halves as signed numbers. Log directories lie in it on disk.
inline bool directory_before(DirectoryId a, DirectoryId b) {
  const auto halves = [](DirectoryId id) { return std::pair(static_cast<int64_t>(id.value.high), static_cast<int64_t>(id.value.low)); };
  return halves(a) < halves(b);
}

struct Endpoint {
  std::string name;
  std::string host;
  uint16_t port = 0;
  int16_t security_protocol = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct BrokerRegistration {
  NodeId id = no_node;
  BrokerEpoch epoch{-1};
  IncarnationId incarnation_id;
  std::vector<Endpoint> endpoints;
  SupportedFeatures features;
  std::optional<std::string> rack;
  bool fenced = true;
  bool in_controlled_shutdown = false;
  bool is_migrating_zk_broker = false;
  std::vector<DirectoryId> log_dirs;                            // sorted by directory_before
  std::optional<std::vector<DirectoryId>> cordoned_log_dirs;    // null differs from none

  // Takes part in partitions: neither fenced nor leaving.
  bool active() const { return !fenced && !in_controlled_shutdown; }
  const Endpoint* endpoint(std::string_view listener) const;
  // Whether a replica whose directory is `id` can be used (KIP-858). A broker that registered no directories counts as
  // having all (KAFKA-16162).
  bool has_online_directory(DirectoryId id) const;
  bool all_directories_cordoned() const;

  friend bool operator==(const BrokerRegistration&, const BrokerRegistration&) = default;
};

struct ControllerRegistration {
  NodeId id = no_node;
  IncarnationId incarnation_id;
  bool zk_migration_ready = false;
  std::vector<Endpoint> endpoints;
  SupportedFeatures features;

  friend bool operator==(const ControllerRegistration&, const ControllerRegistration&) = default;
};

struct Cluster {
  PersistentMap<NodeId, BrokerRegistration> brokers;
  PersistentMap<NodeId, ControllerRegistration> controllers;
  // Where each broker's RegisterBrokerRecord stands in the log (in a snapshot: the snapshot's last offset). A broker is
  // caught up when it has read that far. Not part of the metadata itself.
  PersistentMap<NodeId, Offset> registration_offsets;
  // Which broker registered a directory; a directory has one owner.
  PersistentMap<DirectoryId, NodeId> directory_owners;

  const BrokerRegistration* broker(NodeId id) const { return brokers.find(id); }
  const ControllerRegistration* controller(NodeId id) const { return controllers.find(id); }
};

}  // namespace castellan::image

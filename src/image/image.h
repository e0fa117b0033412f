// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The whole metadata of a cluster at one offset of the metadata log. The active controller decides against it, brokers
// and standby controllers follow it, snapshots are written from it: one type, one apply (image/apply.h).
//
//   Image image;
//   for (...) TRY_VOID(apply(image, record, offset));
//   Image published = image;             // copies pointers; free to hand to any thread
//   diff_partitions(old.topics, published.topics, ...);
//
// A value type. Copies share all that is equal. One Image object is for one thread at a time. Equality is of contents.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/persistent_map.h"
#include "base/time.h"
#include "config/properties.h"
#include "image/cluster.h"
#include "image/metadata_version.h"
#include "image/topics.h"

namespace castellan::image {

struct Features {
  // None before the first FeatureLevelRecord of metadata.version: an empty log.
  std::optional<MetadataVersion> metadata_version;
  // The other features that are not at 0. Never kraft.version, which lives in control records (KAFKA-18979).
  FeatureLevels levels;

  MetadataVersion version_or_minimum() const { return metadata_version.value_or(MetadataVersion::minimum()); }
  int16_t level(std::string_view feature) const;
  bool elr_enabled() const { return level(elr_version_feature) >= 1; }

  friend bool operator==(const Features&, const Features&) = default;
};

// Configs of one resource. Shared, never changed in place.
struct ConfigSettings {
  std::shared_ptr<const config::ConfigMap> map;

  friend bool operator==(const ConfigSettings& a, const ConfigSettings& b) { return a.map == b.map || *a.map == *b.map; }
};

struct ConfigResource {
  int8_t type = 0;  // config::ResourceType, or a type that a newer release wrote
  std::string name;

  friend auto operator<=>(const ConfigResource&, const ConfigResource&) = default;
};

struct Configs {
  PersistentMap<ConfigResource, ConfigSettings> resources;

  // Empty where nothing is set.
  const config::ConfigMap& of(const ConfigResource& resource) const;
  const config::ConfigMap& of_topic(std::string_view name) const;
  const config::ConfigMap& of_broker(NodeId id) const;
  const config::ConfigMap& of_cluster() const;  // BROKER ""
  const config::ConfigMap& of_group(std::string_view name) const;
};

// Entity type ("user", "client-id", "ip") to name; no name is the default entity of that type.
using QuotaEntity = std::map<std::string, std::optional<std::string>, std::less<>>;
using Quotas = std::map<std::string, double, std::less<>>;

// The numbers of an ACL are those of AccessControlEntryRecord (KIP-290, KIP-801).
struct AclEntry {
  int8_t resource_type = 0;
  std::string resource_name;
  int8_t pattern_type = 0;
  std::string principal;
  std::string host;
  int8_t operation = 0;
  int8_t permission_type = 0;

  friend auto operator<=>(const AclEntry&, const AclEntry&) = default;
};

struct ScramUser {
  int8_t mechanism = 0;  // 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
  std::string name;

  friend auto operator<=>(const ScramUser&, const ScramUser&) = default;
};

struct ScramCredential {
  Bytes salt;
  Bytes stored_key;
  Bytes server_key;
  int32_t iterations = 0;

  friend bool operator==(const ScramCredential&, const ScramCredential&) = default;
};

struct DelegationToken {
  std::string owner;
  std::string requester;
  std::vector<std::string> renewers;
  WallTime issued;
  WallTime max;
  WallTime expires;

  friend bool operator==(const DelegationToken&, const DelegationToken&) = default;
};

struct Image {
  // Of the last record that is in it; -1 in an empty image. Not part of equality.
  Offset last_offset{-1};
  Epoch last_epoch{-1};
  WallTime last_timestamp{-1};

  Features features;
  Cluster cluster;
  Topics topics;
  Configs configs;
  PersistentMap<QuotaEntity, Quotas> client_quotas;
  int64_t next_producer_id = -1;  // none handed out yet
  PersistentMap<Uuid, AclEntry> acls;
  PersistentMap<ScramUser, ScramCredential> scram;
  PersistentMap<std::string, DelegationToken> delegation_tokens;  // by token id

  bool empty() const { return !features.metadata_version.has_value(); }
  friend bool operator==(const Image& a, const Image& b);
};

using ImagePtr = std::shared_ptr<const Image>;

}  // namespace castellan::image

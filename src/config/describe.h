// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What DescribeConfigs answers: every key with its value, where the value comes from, and the chain of values behind it (synonyms, the strongest
// first). Also used by CreateTopics' answer.
//
//   auto entries = describe_topic(server, {cluster_map, broker_map}, topic_map, asked_names);
//
// `server` is the config as the file gave it (without dynamic settings). `names` = nullptr asks for all. Synonyms are always filled in: the caller
// leaves them out when the request did not ask. Values of sensitive keys are null already. Entries are sorted by name. Pure.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/alter.h"
#include "config/server_config.h"

namespace castellan::config {

// The numbers go on the wire.
enum class Source : int8_t {
  UNKNOWN = 0,
  DYNAMIC_TOPIC_CONFIG = 1,
  DYNAMIC_BROKER_CONFIG = 2,
  DYNAMIC_DEFAULT_BROKER_CONFIG = 3,
  STATIC_BROKER_CONFIG = 4,
  DEFAULT_CONFIG = 5,
  DYNAMIC_BROKER_LOGGER_CONFIG = 6,
  DYNAMIC_CLIENT_METRICS_CONFIG = 7,
  DYNAMIC_GROUP_CONFIG = 8,
};

struct Synonym {
  std::string name;
  std::optional<std::string> value;
  Source source = Source::DEFAULT_CONFIG;

  friend bool operator==(const Synonym&, const Synonym&) = default;
};

struct Entry {
  std::string name;
  std::optional<std::string> value;
  Source source = Source::DEFAULT_CONFIG;
  Type type = Type::UNKNOWN;
  bool read_only = false;
  bool sensitive = false;
  std::vector<Synonym> synonyms;
  std::string_view documentation;
};

// The image's maps for BROKER "" and for BROKER node_id.
struct DynamicSettings {
  const ConfigMap& cluster;
  const ConfigMap& broker;
};

using Names = std::vector<std::string>;

std::vector<Entry> describe_topic(const ServerConfig& server, const DynamicSettings& dynamic, const ConfigMap& topic, const Names* names = nullptr);
std::vector<Entry> describe_broker(const ServerConfig& server, const DynamicSettings& dynamic, const Names* names = nullptr);
// BROKER "": only what is set for all brokers.
std::vector<Entry> describe_cluster(const ConfigMap& cluster, const Names* names = nullptr);
std::vector<Entry> describe_group(const ServerConfig& server, const DynamicSettings& dynamic, const ConfigMap& group, const Names* names = nullptr);
std::vector<Entry> describe_client_metrics(const ConfigMap& subscription, const Names* names = nullptr);

}  // namespace castellan::config

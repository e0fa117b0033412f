// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a configuration change leads to: CreateTopics' configs, IncrementalAlterConfigs, AlterConfigs. A change is decided against the
// resource's settings as they are, and gives the settings as they will be; the caller writes a ConfigRecord for each difference.
//
//   TRY(ConfigMap after, alter_incrementally({ResourceType::TOPIC, "t"}, before, changes, server));
//
// Errors are what the client gets: INVALID_CONFIG, INVALID_REQUEST with Kafka's words. Existence of the topic or broker, authorization and
// policies are the caller's. Pure.

#pragma once

#include <optional>
#include <span>
#include <string>

#include "config/server_config.h"

namespace castellan::config {

// The numbers go on the wire and into ConfigRecord.
enum class ResourceType : int8_t { UNKNOWN = 0, TOPIC = 2, BROKER = 4, BROKER_LOGGER = 8, CLIENT_METRICS = 16, GROUP = 32 };

struct Resource {
  ResourceType type = ResourceType::UNKNOWN;
  std::string name;  // BROKER: a node id, or "" for all brokers
};

enum class Operation : int8_t { SET = 0, DELETE = 1, APPEND = 2, SUBTRACT = 3 };

struct Change {
  std::string key;
  Operation operation = Operation::SET;
  std::optional<std::string> value;
};

// IncrementalAlterConfigs: each change in turn. An operation that is none of the four comes in as its number and is refused.
Result<ConfigMap> alter_incrementally(const Resource& resource, const ConfigMap& before, std::span<const Change> changes, const ServerConfig& server);

// AlterConfigs and CreateTopics: exactly these settings.
Result<ConfigMap> alter_wholly(const Resource& resource, const ConfigMap& before, std::span<const Change> settings, const ServerConfig& server);

// The check behind both: would these settings do for this resource? Of a broker's settings only the name is checked, as on Kafka's controllers:
// what a broker can do with them only the broker knows.
Result<void> validate_settings(const Resource& resource, const ConfigMap& before, const ConfigMap& after, const ServerConfig& server);

// What a broker checks before it passes a change of BROKER settings on: each key may be changed at run time and its value is good. The errors are
// INVALID_REQUEST, as Kafka's are.
Result<void> validate_broker_settings(const Resource& resource, const ConfigMap& after, const ServerConfig& server);

// What Apache Kafka lets a running broker change and this program does not: the listeners themselves, and what belongs to SSL and SASL, which it
// does not have yet. Refused rather than shown as set and not applied. INVALID_REQUEST, with the way out.
Result<void> refuse_unchangeable(const ConfigMap& before, const ConfigMap& after);

// The form of a request's changes for one resource: each key once, a known operation, a value unless it is DELETE. INVALID_REQUEST.
Result<void> validate_changes(std::span<const Change> changes);

// Checks the type and the name alone: unknown types, a broker that is no number, an empty topic or group name.
Result<void> validate_resource(const Resource& resource);

// A value as a log line may show it: "[hidden]" for passwords and for keys that we do not know.
std::string loggable_value(ResourceType type, std::string_view key, std::string_view value);

}  // namespace castellan::config

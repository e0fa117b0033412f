// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/alter.h"

#include <charconv>

#include "config/client_metrics_checks.h"
#include "config/group_checks.h"
#include "config/synonyms.h"
#include "config/topic_config.h"

namespace castellan::config {
namespace {

constexpr size_t value_size_max = INT16_MAX;

std::optional<Scope> scope_of(ResourceType type) {
  switch (type) {
    case ResourceType::TOPIC: return Scope::topic;
    case ResourceType::BROKER: return Scope::broker;
    case ResourceType::GROUP: return Scope::group;
    case ResourceType::CLIENT_METRICS: return Scope::client_metrics;
    default: return std::nullopt;
  }
}

std::string_view name_of(ResourceType type) {
  switch (type) {
    case ResourceType::TOPIC: return "topic";
    case ResourceType::BROKER: return "broker";
    case ResourceType::GROUP: return "group";
    case ResourceType::CLIENT_METRICS: return "client metrics";
    default: return "unknown";
  }
}

// Items as APPEND and SUBTRACT see them: split at commas, nothing trimmed, empty ones dropped.
std::vector<std::string> raw_items(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    size_t comma = text.find(',');
    if (comma != 0) items.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return items;
}

Result<std::string> change_list(const Resource& resource, const Change& change, const ConfigMap& settings) {
  const Key* key = find_key(*scope_of(resource.type), change.key);
  if (!key || key->type != Type::LIST) {
    return fail(ErrorCode::INVALID_CONFIG, "Can't {} to key {} because its type is not LIST.", change.operation == Operation::APPEND ? "APPEND" : "SUBTRACT", change.key);
  }
  auto current = settings.find(change.key);
  auto items = raw_items(current != settings.end() ? current->second : key->default_text ? key->default_text : "");
  for (std::string& item : raw_items(*change.value)) {
    auto found = std::find(items.begin(), items.end(), item);
    if (change.operation == Operation::APPEND && found == items.end()) items.push_back(std::move(item));
    if (change.operation == Operation::SUBTRACT && found != items.end()) items.erase(found);
  }
  return fmt::format("{}", fmt::join(items, ","));
}

Result<void> check_sizes(const ConfigMap& before, const ConfigMap& after) {
  for (const auto& [name, value] : after) {
    auto old = before.find(name);
    if (value.size() > value_size_max && (old == before.end() || old->second != value)) {
      return fail(ErrorCode::INVALID_CONFIG, "The configuration value cannot be added because it exceeds the maximum value size of {} bytes.", value_size_max);
    }
  }
  return {};
}

// The topic's values over the broker's, for rules that span several keys.
int64_t topic_integer(const ConfigMap& after, const ServerConfig& server, std::string_view name) {
  if (auto found = after.find(name); found != after.end()) return std::get<int64_t>(*parse_value(*find_key(Scope::topic, name), found->second));
  return std::get<int64_t>(broker_value_for_topic(server, name));
}

bool flag(const ConfigMap& settings, std::string_view name) {
  auto found = settings.find(name);
  if (found == settings.end()) return false;
  auto value = parse_value(*find_key(Scope::topic, name), found->second);
  return value && std::get<bool>(*value);
}

Result<void> validate_topic(const ConfigMap& before, const ConfigMap& after, const ServerConfig& server) {
  for (const auto& [name, value] : after) {
    if (!find_key(Scope::topic, name)) return fail(ErrorCode::INVALID_CONFIG, "Unknown topic config name: {}", name);
  }
  for (const auto& [name, text] : after) {
    if (auto value = parse_value(*find_key(Scope::topic, name), text); !value) return unexpected(value.error());
  }
  int64_t lag_min = topic_integer(after, server, "min.compaction.lag.ms");
  int64_t lag_max = topic_integer(after, server, "max.compaction.lag.ms");
  if (lag_min > lag_max) {
    return fail(ErrorCode::INVALID_CONFIG, "conflict topic config setting min.compaction.lag.ms ({}) > max.compaction.lag.ms ({})", lag_min, lag_max);
  }
  if (flag(after, "remote.storage.enable")) {
    if (!server.values.boolean("remote.log.storage.system.enable")) {
      return fail(ErrorCode::INVALID_CONFIG, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.");
    }
  } else if (flag(before, "remote.storage.enable") && !flag(after, "remote.log.delete.on.disable")) {
    return fail(ErrorCode::INVALID_CONFIG, "It is invalid to disable remote storage without deleting remote data. If you want to keep the remote data and turn to read only, "
                "please set `remote.storage.enable=true,remote.log.copy.disable=true`. If you want to disable remote storage and delete all remote data, "
                "please set `remote.storage.enable=false,remote.log.delete.on.disable=true`.");
  }
  return {};
}

}  // namespace

Result<void> validate_changes(std::span<const Change> changes) {
  std::vector<std::string_view> seen, null_keys;
  for (const Change& change : changes) {
    if (std::find(seen.begin(), seen.end(), change.key) != seen.end()) return fail(ErrorCode::INVALID_REQUEST, "Error due to duplicate config keys");
    seen.push_back(change.key);
    if (change.operation < Operation::SET || change.operation > Operation::SUBTRACT) {
      return fail(ErrorCode::INVALID_REQUEST, "Unknown operations type {}", static_cast<int>(change.operation));
    }
    if (change.operation != Operation::DELETE && !change.value) null_keys.push_back(change.key);
  }
  if (!null_keys.empty()) return fail(ErrorCode::INVALID_REQUEST, "Null value not supported for : {}", fmt::join(null_keys, ", "));
  return {};
}

Result<void> validate_resource(const Resource& resource) {
  switch (resource.type) {
    case ResourceType::TOPIC:
      if (resource.name.empty()) return fail(ErrorCode::INVALID_REQUEST, "Default topic resources are not allowed.");
      return {};
    case ResourceType::BROKER: {
      if (resource.name.empty()) return {};
      int32_t id = 0;
      const char* end = resource.name.data() + resource.name.size();
      auto [stop, error] = std::from_chars(resource.name.data(), end, id);
      if (error != std::errc() || stop != end) return fail(ErrorCode::INVALID_REQUEST, "Unable to parse broker name as a base 10 number.");
      if (id < 0) return fail(ErrorCode::INVALID_REQUEST, "Invalid negative broker ID.");
      return {};
    }
    case ResourceType::CLIENT_METRICS:
      if (resource.name.empty()) return fail(ErrorCode::INVALID_REQUEST, "Subscription name can't be empty");
      return {};
    case ResourceType::GROUP:
      if (resource.name.empty()) return fail(ErrorCode::INVALID_REQUEST, "Default group resources are not allowed.");
      return {};
    default: return fail(ErrorCode::INVALID_REQUEST, "Unknown resource type {}", static_cast<int>(resource.type));
  }
}

Result<void> validate_settings(const Resource& resource, const ConfigMap& before, const ConfigMap& after, const ServerConfig& server) {
  TRY_VOID(validate_resource(resource));
  TRY_VOID(check_sizes(before, after));
  switch (resource.type) {
    case ResourceType::TOPIC: return validate_topic(before, after, server);
    case ResourceType::GROUP: return validate_group(after, server);
    case ResourceType::CLIENT_METRICS: return validate_client_metrics(after);
    default: return {};
  }
}

Result<void> refuse_unchangeable(const ConfigMap& before, const ConfigMap& after) {
  for (const auto& [name, value] : after) {
    if (const auto was = before.find(name); was != before.end() && was->second == value) continue;
    if (changes_at_run_time(name)) continue;
    return fail(ErrorCode::INVALID_REQUEST, "{} cannot be changed while this node runs. Set it in server.properties and restart the node.", name);
  }
  return {};
}

Result<void> validate_broker_settings(const Resource& resource, const ConfigMap& after, const ServerConfig& server) {
  std::vector<std::string_view> read_only, per_broker;
  for (const auto& [name, value] : after) {
    auto synonyms = broker_synonyms(name);
    const Key* own = find_key(Scope::broker, name);
    const Key* key = own ? own : find_key(Scope::broker, synonyms.back());
    if (own && own->dynamic == Dynamic::read_only) read_only.push_back(name);
    if (key && key->dynamic == Dynamic::per_broker) per_broker.push_back(name);
    if (own && own->dynamic == Dynamic::per_broker && own->name.starts_with("ssl.") && own->name != "ssl.client.auth") {
      return fail(ErrorCode::INVALID_REQUEST, "These security configs can be dynamically updated only per-listener using the listener prefix: [{}]", name);
    }
  }
  if (!read_only.empty()) return fail(ErrorCode::INVALID_REQUEST, "Cannot update these configs dynamically: [{}]", fmt::join(read_only, ", "));
  for (const auto& [name, text] : after) {
    const Key* key = find_key(Scope::broker, broker_synonyms(name).back());
    if (!key || broker_synonyms(name).size() > 2) key = find_key(Scope::broker, name);
    if (!key) continue;  // somebody's own key
    if (auto value = parse_value(*key, text); !value) return fail(ErrorCode::INVALID_REQUEST, "{}", value.error().message);
  }
  if (resource.name.empty() && !per_broker.empty()) {
    return fail(ErrorCode::INVALID_REQUEST, "Cannot update these configs at default cluster level, broker id must be specified: [{}]", fmt::join(per_broker, ", "));
  }
  // A pool of threads may be halved or doubled in one step, no more.
  for (std::string_view name : {"num.io.threads", "num.network.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads", "log.cleaner.threads"}) {
    auto found = after.find(name);
    if (found == after.end()) continue;
    int64_t now = server.values.integer(name);
    int64_t then = std::get<int64_t>(*parse_value(*find_key(Scope::broker, name), found->second));
    if (then < 1) return fail(ErrorCode::INVALID_REQUEST, "Dynamic thread count update validation failed for {}={}: value should be at least 1", name, then);
    if (then < now / 2) {
      return fail(ErrorCode::INVALID_REQUEST, "Dynamic thread count update validation failed for {}={}: value should be at least half the current value {}", name, then, now);
    }
    if (then > now * 2) {
      return fail(ErrorCode::INVALID_REQUEST, "Dynamic thread count update validation failed for {}={}: value should not be greater than double the current value {}", name, then, now);
    }
  }
  return {};
}

Result<ConfigMap> alter_incrementally(const Resource& resource, const ConfigMap& before, std::span<const Change> changes, const ServerConfig& server) {
  TRY_VOID(validate_changes(changes));
  TRY_VOID(validate_resource(resource));
  ConfigMap after = before;
  for (const Change& change : changes) {
    switch (change.operation) {
      case Operation::SET: after.insert_or_assign(change.key, *change.value); break;
      case Operation::DELETE: after.erase(change.key); break;
      case Operation::APPEND:
      case Operation::SUBTRACT: {
        TRY(std::string list, change_list(resource, change, after));
        after.insert_or_assign(change.key, std::move(list));
        break;
      }
    }
  }
  TRY_VOID(validate_settings(resource, before, after, server));
  return after;
}

Result<ConfigMap> alter_wholly(const Resource& resource, const ConfigMap& before, std::span<const Change> settings, const ServerConfig& server) {
  TRY_VOID(validate_resource(resource));
  ConfigMap after;
  for (const Change& setting : settings) {
    if (!setting.value) return fail(ErrorCode::INVALID_CONFIG, "Null value not supported for {} configs: {}", name_of(resource.type), setting.key);
    after.insert_or_assign(setting.key, *setting.value);
  }
  TRY_VOID(validate_settings(resource, before, after, server));
  return after;
}

std::string loggable_value(ResourceType type, std::string_view key, std::string_view value) {
  if (type == ResourceType::BROKER_LOGGER || type == ResourceType::CLIENT_METRICS) return std::string(value);
  auto scope = scope_of(type);
  const Key* found = scope ? find_key(*scope, *scope == Scope::broker ? broker_synonyms(key).back() : key) : nullptr;
  return !found || found->sensitive() ? "[hidden]" : std::string(value);
}

}  // namespace castellan::config

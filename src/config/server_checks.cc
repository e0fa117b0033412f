// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/server_checks.h"

#include "config/http_address.h"

namespace castellan::config {
namespace {

#define REQUIRE(condition, ...) \
  if (!(condition)) return fail(ErrorCode::INVALID_CONFIG, __VA_ARGS__)

Result<void> check_logs(const ServerConfig& server) {
  const Values& v = server.values;
  int64_t roll_ms = v.integer_or_null("log.roll.ms").value_or(v.integer("log.roll.hours") * 3'600'000);
  REQUIRE(roll_ms >= 1, "log.roll.ms must be greater than or equal to 1");
  int64_t jitter_ms = v.integer_or_null("log.roll.jitter.ms").value_or(v.integer("log.roll.jitter.hours") * 3'600'000);
  REQUIRE(jitter_ms >= 0, "log.roll.jitter.ms must be greater than or equal to 0");
  int64_t retention_ms = v.integer_or_null("log.retention.ms").value_or(
      v.integer_or_null("log.retention.minutes") ? *v.integer_or_null("log.retention.minutes") * 60'000 : v.integer("log.retention.hours") * 3'600'000);
  REQUIRE(retention_ms != 0, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1");
  REQUIRE(!server.log_dirs.empty(), "At least one log directory must be defined via log.dirs or log.dir.");
  REQUIRE(v.integer("log.cleaner.dedupe.buffer.size") / std::max<int64_t>(1, v.integer("log.cleaner.threads")) > 1024 * 1024,
          "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.");
  REQUIRE(v.integer("log.cleaner.min.compaction.lag.ms") <= v.integer("log.cleaner.max.compaction.lag.ms"),
          "log.cleaner.min.compaction.lag.ms ({}) must not be above log.cleaner.max.compaction.lag.ms ({})",
          v.integer("log.cleaner.min.compaction.lag.ms"), v.integer("log.cleaner.max.compaction.lag.ms"));
  return {};
}

Result<void> check_replication(const Values& v) {
  REQUIRE(v.integer("replica.fetch.wait.max.ms") <= v.integer("replica.socket.timeout.ms"),
          "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts");
  REQUIRE(v.integer("replica.fetch.wait.max.ms") <= v.integer("replica.lag.time.max.ms"),
          "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR");
  return {};
}

std::string shown_voters(const ServerConfig& server) {
  std::vector<int32_t> ids;
  for (const auto& [id, address] : server.static_voters) ids.push_back(id.value);
  return fmt::format("Set({})", fmt::join(ids, ", "));
}

Result<void> check_broker_only(const ServerConfig& server) {
  REQUIRE(!server.static_voters.contains(server.node_id),
          "If process.roles contains just the 'broker' role, the node id {} must not be included in the set of voters controller.quorum.voters={}",
          server.node_id, shown_voters(server));
  REQUIRE(!server.controller_listener_names.empty(), "controller.listener.names must contain at least one value when running KRaft with just the broker role");
  REQUIRE(server.controller_listeners.empty(),
          "controller.listener.names must not contain a value appearing in the 'listeners' configuration when running KRaft with just the broker role");
  for (std::string name : server.controller_listener_names) {
    for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    REQUIRE(server.protocol_of_listener.contains(name),
            "Controller listener with name {} defined in controller.listener.names not found in listener.security.protocol.map  (an explicit security mapping for each "
            "controller listener is required if listener.security.protocol.map is non-empty, or if there are security protocols other than PLAINTEXT in use)", name);
  }
  REQUIRE(!server.values.boolean("controller.quorum.auto.join.enable"),
          "controller.quorum.auto.join.enable is only supported when process.roles contains the 'controller' role.");
  return {};
}

Result<void> check_controller(const ServerConfig& server) {
  if (!server.is_broker) {
    REQUIRE(server.advertised_controller_listeners.size() == server.listeners.size(),
            "The listeners config must only contain KRaft controller listeners from controller.listener.names when process.roles=controller");
    if (!server.values.is_null("inter.broker.listener.name")) {
      const auto& names = server.controller_listener_names;
      REQUIRE(std::find(names.begin(), names.end(), server.inter_broker_listener_name) == names.end(),
              "controller.listener.names must not contain an explicitly set inter.broker.listener.name configuration value when process.roles=controller");
    }
  }
  REQUIRE(server.static_voters.empty() || server.static_voters.contains(server.node_id),
          "If process.roles contains the 'controller' role, the node id {} must be included in the set of voters controller.quorum.voters={}",
          server.node_id, shown_voters(server));
  REQUIRE(!server.advertised_controller_listeners.empty(),
          "controller.listener.names must contain at least one value appearing in the 'listeners' configuration when running the KRaft controller role");
  for (const std::string& name : server.controller_listener_names) {
    REQUIRE(std::any_of(server.listeners.begin(), server.listeners.end(), [&](const Listener& listener) { return listener.name == name; }),
            "controller.listener.names must only contain values appearing in the 'listeners' configuration when running the KRaft controller role");
  }
  return {};
}

std::vector<std::string> names_of(const std::vector<Listener>& listeners) {
  std::vector<std::string> names;
  for (const Listener& listener : listeners) names.push_back(listener.name);
  return names;
}

Result<void> check_broker(const ServerConfig& server) {
  auto advertised = names_of(server.advertised_broker_listeners);
  auto all = names_of(server.listeners);
  auto has = [](const std::vector<std::string>& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  REQUIRE(!advertised.empty(), "There must be at least one broker advertised listener. Perhaps all listeners appear in controller.listener.names?");
  REQUIRE(has(advertised, server.inter_broker_listener_name),
          "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options based on currently configured listeners are {}",
          fmt::join(advertised, ","));
  REQUIRE(std::all_of(advertised.begin(), advertised.end(), [&](const std::string& name) { return has(all, name); }),
          "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. Found {}. The valid options based on the current "
          "configuration are {}", fmt::join(advertised, ","), fmt::join(all, ","));
  if (server.values.is_null("cordoned.log.dirs")) return {};
  const auto& cordoned = server.values.list("cordoned.log.dirs");
  if (has(cordoned, "*")) {
    REQUIRE(cordoned.size() == 1, "When cordoned.log.dirs is set to *, it must not contain other values");
    return {};
  }
  for (const std::string& directory : cordoned) {
    REQUIRE(has(server.log_dirs, directory), "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : {}", directory);
  }
  return {};
}

Result<void> check_network(const ServerConfig& server) {
  const Values& v = server.values;
  for (const auto* listeners : {&server.advertised_broker_listeners, &server.advertised_controller_listeners}) {
    for (const Listener& listener : *listeners) {
      REQUIRE(listener.host != "0.0.0.0", "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.");
    }
  }
  if (server.inter_broker_protocol == SecurityProtocol::SASL_PLAINTEXT || server.inter_broker_protocol == SecurityProtocol::SASL_SSL) {
    const auto& enabled = v.list("sasl.enabled.mechanisms");
    REQUIRE(std::find(enabled.begin(), enabled.end(), v.text("sasl.mechanism.inter.broker.protocol")) != enabled.end(),
            "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used for inter-broker communication");
  }
  int64_t queued = v.integer("queued.max.request.bytes");
  REQUIRE(queued <= 0 || queued >= v.integer("socket.request.max.bytes"), "queued.max.request.bytes must be larger or equal to socket.request.max.bytes");
  REQUIRE(v.integer("max.connections.per.ip") != 0 || !server.connections_per_ip_overrides.empty(),
          "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.");
  int64_t idle = v.integer("connections.max.idle.ms");
  int64_t delay = v.integer("connection.failed.authentication.delay.ms");
  REQUIRE(idle < 0 || delay < idle,
          "connection.failed.authentication.delay.ms={} should always be less than connections.max.idle.ms={} to prevent failed authentication responses from timing out",
          delay, idle);
  std::vector<std::string> names = names_of(server.listeners);
  names.insert(names.end(), server.controller_listener_names.begin(), server.controller_listener_names.end());
  if (!v.is_null("early.start.listeners")) {
    for (const std::string& name : v.list("early.start.listeners")) {
      REQUIRE(std::find(names.begin(), names.end(), name) != names.end(),
              "early.start.listeners contains listener {}, but this is not contained in listeners or controller.listener.names", name);
    }
  }
  return {};
}

// A group key's default has to lie between the bounds that a group may set, and a heartbeat within a session.
Result<void> check_groups(const Values& v) {
  auto between = [&](std::string_view low, std::string_view middle, std::string_view high) -> Result<void> {
    REQUIRE(v.integer(high) >= v.integer(low), "{} must be greater than or equal to {}", high, low);
    REQUIRE(v.integer(middle) >= v.integer(low), "{} must be greater than or equal to {}", middle, low);
    REQUIRE(v.integer(middle) <= v.integer(high), "{} must be less than or equal to {}", middle, high);
    return {};
  };
  for (std::string kind : {"group.consumer.", "group.share.", "group.streams."}) {
    for (std::string_view what : {"heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"}) {
      TRY_VOID(between(fmt::format("{}min.{}", kind, what), fmt::format("{}{}", kind, what), fmt::format("{}max.{}", kind, what)));
    }
    REQUIRE(v.integer(kind + "heartbeat.interval.ms") < v.integer(kind + "session.timeout.ms"), "{0}heartbeat.interval.ms must be less than {0}session.timeout.ms", kind);
  }
  for (std::string_view what : {"delivery.count.limit", "record.lock.duration.ms", "partition.max.record.locks"}) {
    TRY_VOID(between(fmt::format("group.share.min.{}", what), fmt::format("group.share.{}", what), fmt::format("group.share.max.{}", what)));
  }
  REQUIRE(v.list("group.share.assignors").size() == 1, "group.share.assignors must contain exactly one assignor, but found {}", v.list("group.share.assignors").size());
  REQUIRE(v.integer("group.streams.num.standby.replicas") <= v.integer("group.streams.max.standby.replicas"),
          "group.streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas");
  const auto& protocols = v.list("group.coordinator.rebalance.protocols");
  REQUIRE(std::find(protocols.begin(), protocols.end(), "classic") != protocols.end(), "Disabling the 'classic' protocol is not supported.");
  return {};
}

bool starts_with_any(std::string_view key, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) { return key.starts_with(prefix); });
}

// A given value that differs from what the key has without being given.
bool differs_from_default(const ServerConfig& server, const Key& key) {
  return !key.required && server.given.contains(key.name) && server.values.value(key.name) != default_value(key);
}

}  // namespace

Result<void> check_server(const ServerConfig& server) {
  TRY_VOID(check_logs(server));
  TRY_VOID(check_replication(server.values));
  REQUIRE(!server.static_voters.empty() || !server.bootstrap_servers.empty(),
          "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap controllers or controller.quorum.voters must contain "
          "a parseable set of controllers.");
  if (!server.is_controller) {
    TRY_VOID(check_broker_only(server));
  } else {
    TRY_VOID(check_controller(server));
  }
  if (server.is_broker) {
    TRY_VOID(check_broker(server));
  }
  TRY_VOID(check_network(server));
  TRY_VOID(http_address(server.values));
  return check_groups(server.values);
}

Result<void> ServerConfig::check_supported() const {
  auto refuse = [](std::string_view what, std::string_view why, std::string_view way_out) {
    return fail(ErrorCode::INVALID_CONFIG, "{}: {}. {}", what, why, way_out);
  };
  for (const Listener& listener : listeners) {
    if (listener.protocol == SecurityProtocol::PLAINTEXT) continue;
    return refuse(fmt::format("listeners={}://{}:{} with {}", listener.name, listener.host, listener.port, security_protocol_name(listener.protocol)),
                  "this version serves PLAINTEXT listeners only", "Map the listener to PLAINTEXT in listener.security.protocol.map, or remove it");
  }
  if (inter_broker_protocol != SecurityProtocol::PLAINTEXT) {
    return refuse("security.inter.broker.protocol", "this version speaks PLAINTEXT between nodes only", "Set it to PLAINTEXT");
  }
  if (std::string name = values.text("authorizer.class.name"); !name.empty()) {
    return refuse("authorizer.class.name=" + name, "this version has no authorizer, so that everybody could do everything", "Remove the key to run without authorization");
  }
  if (values.boolean("remote.log.storage.system.enable")) {
    return refuse("remote.log.storage.system.enable=true", "this version has no remote storage", "Remove the key; topics then keep all their data in log.dirs");
  }
  for (const Key& key : keys_of(Scope::broker)) {
    bool security = starts_with_any(key.name, {"ssl.", "sasl.", "delegation.token.secret", "principal.builder", "security.providers", "config.providers"});
    bool policy = key.name == "create.topic.policy.class.name" || key.name == "alter.config.policy.class.name" || key.name == "client.quota.callback.class";
    if ((security || policy) && differs_from_default(*this, key)) {
      return refuse(std::string(key.name), policy ? "a Java class cannot be run here, so what it forbids would be allowed" : "this version does not honour it yet, and without it the node would be less secure than asked for",
                    "Remove the key");
    }
  }
  for (const auto& [name, value] : given) {
    if (starts_with_any(name, {"listener.name."}) && (name.find(".ssl.") != std::string::npos || name.find(".sasl.") != std::string::npos || name.find(".principal.") != std::string::npos)) {
      return refuse(name, "this version does not honour it yet, and without it the node would be less secure than asked for", "Remove the key");
    }
  }
  return {};
}

void warn_about_keys(ServerConfig& server) {
  auto warn = [&](std::string text) { server.warnings.push_back(std::move(text)); };
  for (const auto& [name, value] : server.given) {
    if (find_key(Scope::broker, name)) continue;
    if (starts_with_any(name, {"listener.name.", "rsm.config.", "rlmm.config.", "config.providers."})) continue;
    if (name == "super.users" || name == "allow.everyone.if.no.acl.found") continue;
    warn(fmt::format("unknown configuration key '{}': it is ignored", name));
  }
  for (const Key& key : keys_of(Scope::broker)) {
    auto given = server.given.find(key.name);
    if (given == server.given.end() || key.limit.kind != Limit::Kind::list) continue;
    if (split_list(given->second).size() != server.values.list(key.name).size()) {
      warn(fmt::format("Configuration key \"{}\" contains duplicate values. Duplicates will be removed: {}", key.name, given->second));
    }
  }
  int64_t heartbeat = server.values.integer("broker.heartbeat.interval.ms");
  int64_t session = server.values.integer("broker.session.timeout.ms");
  if (heartbeat * 2 > session) {
    warn(fmt::format("broker.heartbeat.interval.ms ({} ms) must be less than or equal to half of the broker.session.timeout.ms ({} ms): brokers may lose their lease",
                     heartbeat, session));
  }
  if (server.given.contains("group.coordinator.rebalance.protocols")) {
    warn("group.coordinator.rebalance.protocols is deprecated: the features group.version, streams.version and share.version decide");
  }
  for (std::string_view name : {"metric.reporters", "kafka.metrics.reporters", "replica.selector.class"}) {
    if (differs_from_default(server, *find_key(Scope::broker, name))) warn(fmt::format("{} names Java classes, which cannot be run here: it is ignored", name));
  }
  if (server.is_controller) return;
  if (server.controller_listener_names.size() > 1) {
    warn(fmt::format("controller.listener.names has multiple entries; only the first will be used since process.roles=broker: {}", server.controller_listener_names.front()));
  }
  for (std::string_view name : {"create.topic.policy.class.name", "alter.config.policy.class.name", "num.partitions", "default.replication.factor"}) {
    if (server.given.contains(name)) warn(fmt::format("{} is defined in the broker role. It should be defined in the controller role.", name));
  }
}

}  // namespace castellan::config

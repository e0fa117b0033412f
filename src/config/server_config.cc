// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/server_config.h"

#include "config/server_checks.h"
#include "config/synonyms.h"

namespace castellan::config {
namespace {

constexpr std::string_view map_key = "listener.security.protocol.map";

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

Result<SecurityProtocol> parse_protocol(std::string_view text, std::string_view key) {
  std::string name = upper(text);
  for (auto protocol : {SecurityProtocol::PLAINTEXT, SecurityProtocol::SSL, SecurityProtocol::SASL_PLAINTEXT, SecurityProtocol::SASL_SSL}) {
    if (security_protocol_name(protocol) == name) return protocol;
  }
  return fail(ErrorCode::INVALID_CONFIG, "Invalid security protocol `{}` defined in {}: it is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", text, key);
}

bool is_secure_name(std::string_view name) { return name == "SSL" || name == "SASL_SSL" || name == "SASL_PLAINTEXT"; }

// Each listener's protocol. Without a map in the file, controller listeners are PLAINTEXT unless a name says otherwise (KIP-1135's convenience).
Result<void> read_protocol_map(ServerConfig& server) {
  TRY(auto pairs, parse_pairs(map_key, server.values.text(map_key)));
  for (const auto& [name, protocol_text] : pairs) {
    TRY(auto protocol, parse_protocol(protocol_text, map_key));
    if (!server.protocol_of_listener.emplace(upper(name), protocol).second) {
      return fail(ErrorCode::INVALID_CONFIG, "{} names listener {} twice", map_key, upper(name));
    }
  }
  if (server.given.contains(map_key)) return {};
  for (const std::string& name : server.controller_listener_names) {
    if (is_secure_name(name)) return {};
  }
  for (const std::string& listener : server.values.list("listeners")) {
    if (is_secure_name(upper(listener.substr(0, listener.find(':'))))) return {};
  }
  for (const std::string& name : server.controller_listener_names) server.protocol_of_listener.emplace(name, SecurityProtocol::PLAINTEXT);
  return {};
}

// Two listeners may share a port only as one IPv4 and one IPv6 address; port 0 asks the system for a free one.
Result<void> check_ports(const std::vector<Listener>& listeners, std::string_view shown) {
  std::map<uint16_t, std::vector<const Listener*>> by_port;
  for (const Listener& listener : listeners) {
    if (listener.port != 0) by_port[listener.port].push_back(&listener);
  }
  for (const auto& [port, sharing] : by_port) {
    if (sharing.size() == 1) continue;
    bool all_addresses = std::all_of(sharing.begin(), sharing.end(), [](auto* l) { return is_ipv4(l->host) || is_ipv6(l->host); });
    if (!all_addresses) return fail(ErrorCode::INVALID_CONFIG, "Each listener must have a different port, listeners: {}", shown);
    if (sharing.size() > 2) {
      return fail(ErrorCode::INVALID_CONFIG, "Each listener must have a different port unless exactly one listener has an IPv4 address and the other IPv6 address, "
                  "listeners: {}, port: {}", shown, port);
    }
    if (is_ipv4(sharing[0]->host) == is_ipv4(sharing[1]->host)) {
      return fail(ErrorCode::INVALID_CONFIG, "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, listeners: {}, port: {}", shown, port);
    }
  }
  return {};
}

Result<std::vector<Listener>> read_listeners(const ServerConfig& server, std::string_view key, bool distinct_ports) {
  const auto& texts = server.values.list(key);
  std::string shown = fmt::format("[{}]", fmt::join(texts, ", "));
  auto wrap = [&](const Error& error) { return fail(ErrorCode::INVALID_CONFIG, "Error creating broker listeners from '{}' in {}: {}", shown, key, error.message); };
  std::vector<Listener> listeners;
  for (const std::string& text : texts) {
    auto parsed = parse_listener_text(text);
    if (!parsed) return wrap(parsed.error());
    auto protocol = server.protocol_of_listener.find(parsed->name);
    if (protocol == server.protocol_of_listener.end()) {
      return wrap(Error{ErrorCode::INVALID_CONFIG, fmt::format("No security protocol defined for listener {}: add it to {}", parsed->name, map_key)});
    }
    for (const Listener& other : listeners) {
      if (other.name == parsed->name) return wrap(Error{ErrorCode::INVALID_CONFIG, "Each listener must have a different name, listeners: " + shown});
    }
    listeners.push_back({.name = parsed->name, .host = parsed->host, .port = parsed->port, .protocol = protocol->second});
  }
  if (distinct_ports) {
    if (auto checked = check_ports(listeners, shown); !checked) return wrap(checked.error());
  }
  return listeners;
}

bool is_controller_listener(const ServerConfig& server, const Listener& listener) {
  const auto& names = server.controller_listener_names;
  return std::find(names.begin(), names.end(), listener.name) != names.end();
}

// What is advertised: the entry in advertised.listeners, else the listener itself. The first controller listener without a host of its own takes this
// node's entry in controller.quorum.voters; otherwise a wildcard host becomes empty, to be filled in by the node.
void read_advertised_controller_listeners(ServerConfig& server, const std::vector<Listener>* advertised) {
  for (const std::string& name : server.controller_listener_names) {
    auto same_name = [&](const Listener& listener) { return listener.name == upper(name); };
    if (advertised) {
      auto found = std::find_if(advertised->begin(), advertised->end(), [&](const Listener& l) { return same_name(l) && is_controller_listener(server, l); });
      if (found != advertised->end()) {
        server.advertised_controller_listeners.push_back(*found);
        continue;
      }
    }
    auto found = std::find_if(server.controller_listeners.begin(), server.controller_listeners.end(), same_name);
    if (found == server.controller_listeners.end()) continue;
    Listener listener = *found;
    if (listener.host.empty() || listener.host == "0.0.0.0") {
      listener.host.clear();
      auto voter = server.static_voters.find(server.node_id);
      if (name == server.controller_listener_names.front() && voter != server.static_voters.end()) {
        listener.host = voter->second.host;
        listener.port = voter->second.port;
      }
    }
    server.advertised_controller_listeners.push_back(std::move(listener));
  }
}

Result<void> read_all_listeners(ServerConfig& server) {
  TRY_VOID(read_protocol_map(server));
  TRY(server.listeners, read_listeners(server, "listeners", true));
  for (const Listener& listener : server.listeners) {
    (is_controller_listener(server, listener) ? server.controller_listeners : server.broker_listeners).push_back(listener);
  }
  std::vector<Listener> advertised;
  bool is_advertised = !server.values.is_null("advertised.listeners");
  if (is_advertised) {
    TRY(advertised, read_listeners(server, "advertised.listeners", false));
  }
  for (const Listener& listener : is_advertised ? advertised : server.listeners) {
    if (!is_controller_listener(server, listener)) server.advertised_broker_listeners.push_back(listener);
  }
  read_advertised_controller_listeners(server, is_advertised ? &advertised : nullptr);
  return {};
}

Result<void> read_inter_broker_listener(ServerConfig& server) {
  if (auto name = server.values.text_or_null("inter.broker.listener.name")) {
    if (server.given.contains("security.inter.broker.protocol")) {
      return fail(ErrorCode::INVALID_CONFIG, "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.");
    }
    server.inter_broker_listener_name = upper(*name);
    auto found = server.protocol_of_listener.find(server.inter_broker_listener_name);
    if (found == server.protocol_of_listener.end()) {
      return fail(ErrorCode::INVALID_CONFIG, "Listener with name {} defined in inter.broker.listener.name not found in {}.", server.inter_broker_listener_name, map_key);
    }
    server.inter_broker_protocol = found->second;
    return {};
  }
  TRY(server.inter_broker_protocol, parse_protocol(server.values.text("security.inter.broker.protocol"), "security.inter.broker.protocol"));
  server.inter_broker_listener_name = security_protocol_name(server.inter_broker_protocol);
  return {};
}

// node.id and its old name broker.id fill each other in.
Result<void> read_node_id(ServerConfig& server) {
  bool has_node_id = server.given.contains("node.id");
  bool has_broker_id = server.given.contains("broker.id");
  if (!has_broker_id) {
    server.given["broker.id"] = server.given["node.id"];
    server.values.set("broker.id", server.values.value("node.id"));
  }
  server.node_id = NodeId(static_cast<int32_t>(server.values.integer("node.id")));
  if (server.values.integer("broker.id") != server.node_id.value) {
    return fail(ErrorCode::INVALID_CONFIG, "`node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, please use `node.id` instead.");
  }
  if (has_broker_id) server.warnings.push_back(fmt::format("broker.id is deprecated: use node.id{}", has_node_id ? " alone" : ""));
  return {};
}

Result<void> read_connection_limits(ServerConfig& server) {
  constexpr std::string_view key = "max.connections.per.ip.overrides";
  TRY(auto pairs, parse_pairs(key, server.values.text(key)));
  server.connections_per_ip_overrides.clear();
  for (const auto& [address, limit] : pairs) {
    if (!is_host(address)) return fail(ErrorCode::INVALID_CONFIG, "{} contains invalid addresses : {}", key, address);
    if (limit.empty() || limit.size() > 9 || limit.find_first_not_of("0123456789") != std::string::npos) {
      return fail(ErrorCode::INVALID_CONFIG, "{}: the limit '{}' for {} is not a whole number", key, limit, address);
    }
    server.connections_per_ip_overrides[address] = std::stoll(limit);
  }
  return {};
}

}  // namespace

std::string_view security_protocol_name(SecurityProtocol protocol) {
  static constexpr std::array<std::string_view, 4> names = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"};
  return names[static_cast<size_t>(protocol)];
}

Result<ServerConfig> ServerConfig::parse(const ConfigMap& input) {
  ServerConfig server;
  server.given = input;
  ConfigMap readable = input;
  if (auto broker_id = input.find("broker.id"); broker_id != input.end() && !input.contains("node.id")) {
    server.given["node.id"] = readable["node.id"] = broker_id->second;
  }
  for (std::string_view key : {"process.roles", "node.id", "controller.listener.names"}) {
    if (!readable.contains(key)) return fail(ErrorCode::INVALID_CONFIG, "Missing required configuration \"{}\" which has no default value.", key);
  }
  TRY(server.values, Values::parse(Scope::broker, readable));
  TRY_VOID(read_node_id(server));
  for (const std::string& role : server.values.list("process.roles")) (role == "broker" ? server.is_broker : server.is_controller) = true;
  server.rack = server.values.text_or_null("broker.rack");
  server.controller_listener_names = server.values.list("controller.listener.names");
  TRY(server.static_voters, parse_quorum_voters(server.values.list("controller.quorum.voters")));
  TRY(server.bootstrap_servers, parse_bootstrap_servers(server.values.list("controller.quorum.bootstrap.servers")));
  TRY_VOID(read_all_listeners(server));
  TRY_VOID(read_inter_broker_listener(server));
  TRY_VOID(read_connection_limits(server));
  server.log_dirs = server.values.list(server.values.is_null("log.dirs") ? "log.dir" : "log.dirs");
  if (!server.log_dirs.empty()) server.metadata_log_dir = server.values.text_or_null("metadata.log.dir").value_or(server.log_dirs.front());
  TRY_VOID(check_server(server));
  warn_about_keys(server);
  return server;
}

std::vector<std::string> ServerConfig::all_directories() const {
  std::vector<std::string> all = log_dirs;
  all.push_back(metadata_log_dir);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

ServerConfig ServerConfig::with_dynamic(const ConfigMap& cluster, const ConfigMap& broker) const {
  ServerConfig effective = *this;
  auto apply = [&](const ConfigMap& settings, bool for_all) {
    for (const auto& [name, text] : settings) {
      const Key* key = find_key(Scope::broker, name);
      if (!key || key->dynamic == Dynamic::read_only || (for_all && key->dynamic == Dynamic::per_broker)) continue;
      if (!changes_at_run_time(name)) {
        effective.warnings.push_back(fmt::format("dynamic setting left out: {} cannot be changed while this node runs; set it in server.properties", name));
        continue;
      }
      auto value = parse_value(*key, text);
      if (!value) {
        effective.warnings.push_back(fmt::format("dynamic setting left out: {}", value.error().message));
        continue;
      }
      effective.values.set(name, std::move(*value));
    }
  };
  apply(cluster, true);
  apply(broker, false);
  if (auto limits = read_connection_limits(effective); !limits) effective.warnings.push_back(limits.error().message);
  return effective;
}

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a node is told by its server.properties (and --override), checked as a whole: the roles, the listeners, the quorum, the directories, and
// every other key by name through `values`.
//
//   TRY(ConfigMap file, parse_properties(text, "server.properties"));
//   TRY(ServerConfig server, ServerConfig::parse(file));            // INVALID_CONFIG with the reason, which names the keys
//   server.values.integer("socket.request.max.bytes")
//
// parse accepts what Kafka accepts. What this program does not honour yet, but would change security if ignored (authorizer, SSL, SASL,
// principal builder), is refused by check_supported: the server calls it, the storage tool does not.
//
// Pure: an empty host in a listener is left empty, since only the node can ask for its own name. A value type; share it as
// std::shared_ptr<const ServerConfig>.

#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "config/addresses.h"
#include "config/properties.h"
#include "config/values.h"

namespace castellan::config {

// The numbers go on the wire and into registration records.
enum class SecurityProtocol : int16_t { PLAINTEXT = 0, SSL = 1, SASL_PLAINTEXT = 2, SASL_SSL = 3 };
std::string_view security_protocol_name(SecurityProtocol protocol);

struct Listener {
  std::string name;  // upper case, e.g. "PLAINTEXT", "CONTROLLER"
  std::string host;  // empty: every interface; when advertised: this machine's own name
  uint16_t port = 0;
  SecurityProtocol protocol = SecurityProtocol::PLAINTEXT;

  friend bool operator==(const Listener&, const Listener&) = default;
};

struct ServerConfig {
  bool is_broker = false;
  bool is_controller = false;
  NodeId node_id{-1};
  std::optional<std::string> rack;

  std::vector<Listener> listeners;                        // to bind, all of them, in the file's order
  std::vector<Listener> broker_listeners;                 // to bind, without the controllers' ones
  std::vector<Listener> controller_listeners;             // to bind, only those
  std::vector<Listener> advertised_broker_listeners;      // what a broker registers
  std::vector<Listener> advertised_controller_listeners;  // what a controller registers; in the order of controller.listener.names
  std::vector<std::string> controller_listener_names;     // verbatim; the first one is the quorum's
  std::map<std::string, SecurityProtocol> protocol_of_listener;
  std::string inter_broker_listener_name;
  SecurityProtocol inter_broker_protocol = SecurityProtocol::PLAINTEXT;

  std::map<NodeId, HostPort> static_voters;               // controller.quorum.voters
  std::vector<HostPort> bootstrap_servers;                // controller.quorum.bootstrap.servers

  std::vector<std::string> log_dirs;                      // in the order configured, each once
  std::string metadata_log_dir;
  std::map<std::string, int64_t> connections_per_ip_overrides;

  Values values;                                          // every key of the broker table, parsed
  ConfigMap given;                                        // what was given; node.id and broker.id fill each other in
  std::vector<std::string> warnings;                      // one line each, for the log: unknown keys, deprecated ones, doubtful ones

  static Result<ServerConfig> parse(const ConfigMap& given);

  // The server's refusals: INVALID_CONFIG with one line that names the key and the way out.
  Result<void> check_supported() const;

  // log.dirs and the metadata directory together, sorted, each once: what the storage tool formats and the node opens.
  std::vector<std::string> all_directories() const;

  // This config with what the cluster's and this broker's dynamic settings say (the image's maps for BROKER "" and for BROKER node_id).
  // A dynamic value that does not parse is left out, with a warning.
  ServerConfig with_dynamic(const ConfigMap& cluster, const ConfigMap& broker) const;

  // Shorthand for values.integer(...) of a key that ends in .ms.
  std::chrono::milliseconds milliseconds(std::string_view key) const { return std::chrono::milliseconds(values.integer(key)); }
};

using ServerConfigPtr = std::shared_ptr<const ServerConfig>;

}  // namespace castellan::config

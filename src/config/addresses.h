// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The address forms in configuration values: listeners, voters, bootstrap servers. All errors are INVALID_CONFIG with Kafka's words. Pure.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace castellan::config {

struct HostPort {
  std::string host;
  uint16_t port = 0;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// "host:port", "[v6]:port", "SCHEME://host:port"; nullopt when it is none.
std::optional<HostPort> parse_host_port(std::string_view text);

// Letters, digits and - % . _ : only.
bool is_host(std::string_view text);
// A literal IPv4 or IPv6 address.
bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);

// {id}@{host}:{port}, as in controller.quorum.voters.
Result<std::map<NodeId, HostPort>> parse_quorum_voters(const std::vector<std::string>& entries);
// {host}:{port}, as in controller.quorum.bootstrap.servers.
Result<std::vector<HostPort>> parse_bootstrap_servers(const std::vector<std::string>& entries);

struct ListenerText {
  std::string name;  // upper case
  std::string host;  // may be empty
  uint16_t port = 0;
};
// "NAME://host:port"; the host may be empty or [v6].
Result<ListenerText> parse_listener_text(std::string_view text);

// "a:1,b:2" as pairs, split at the last colon of each item; "" is none.
Result<std::vector<std::pair<std::string, std::string>>> parse_pairs(std::string_view key, std::string_view text);

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/addresses.h"

#include <arpa/inet.h>

#include <charconv>

#include "config/table.h"

namespace castellan::config {
namespace {

constexpr std::string_view host_characters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-%._";

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Splits at the last colon, and takes [ ] off the host.
std::optional<std::pair<std::string, int64_t>> split_host_port(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto port = parse_number(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  if (!port) return std::nullopt;
  if (host.starts_with('[')) host.remove_prefix(1);
  if (host.ends_with(']')) host.remove_suffix(1);
  if (!is_host(host)) return std::nullopt;
  return std::pair(std::string(host), *port);
}

}  // namespace

bool is_host(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == ':' || host_characters.find(c) != std::string_view::npos; });
}

bool is_ipv4(std::string_view text) {
  in_addr address;
  return inet_pton(AF_INET, std::string(text).c_str(), &address) == 1;
}

bool is_ipv6(std::string_view text) {
  in6_addr address;
  return inet_pton(AF_INET6, std::string(text.substr(0, text.find('%'))).c_str(), &address) == 1;
}

std::optional<HostPort> parse_host_port(std::string_view text) {
  if (size_t scheme = text.find("://"); scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  auto split = split_host_port(text);
  if (!split || split->second < 0 || split->second > 65535) return std::nullopt;
  return HostPort{split->first, static_cast<uint16_t>(split->second)};
}

Result<std::map<NodeId, HostPort>> parse_quorum_voters(const std::vector<std::string>& entries) {
  std::map<NodeId, HostPort> voters;
  for (const std::string& entry : entries) {
    size_t at = entry.find('@');
    if (at == std::string::npos || entry.find('@', at + 1) != std::string::npos || at + 1 == entry.size()) {
      return fail(ErrorCode::INVALID_CONFIG, "Invalid configuration value for controller.quorum.voters. Each entry should be in the form `{{id}}@{{host}}:{{port}}`.");
    }
    auto id = parse_number(std::string_view(entry).substr(0, at));
    if (!id || *id > INT32_MAX || *id < INT32_MIN) {
      return fail(ErrorCode::INVALID_CONFIG, "Failed to parse voter ID as an integer from {}.", entry.substr(0, at));
    }
    auto address = parse_host_port(std::string_view(entry).substr(at + 1));
    if (!address) {
      return fail(ErrorCode::INVALID_CONFIG, "Failed to parse host name from entry {} for the configuration controller.quorum.voters. "
                  "Each entry should be in the form `{{id}}@{{host}}:{{port}}`.", entry);
    }
    voters.insert_or_assign(NodeId(static_cast<int32_t>(*id)), std::move(*address));
  }
  return voters;
}

Result<std::vector<HostPort>> parse_bootstrap_servers(const std::vector<std::string>& entries) {
  std::vector<HostPort> servers;
  for (const std::string& entry : entries) {
    auto address = parse_host_port(entry);
    if (!address) {
      return fail(ErrorCode::INVALID_CONFIG, "Failed to parse host name from {} for the configuration controller.quorum.bootstrap.servers. "
                  "Each entry should be in the form \"{{host}}:{{port}}\"", entry);
    }
    servers.push_back(std::move(*address));
  }
  return servers;
}

Result<ListenerText> parse_listener_text(std::string_view text) {
  size_t scheme = text.rfind("://");
  auto split = scheme == std::string_view::npos ? std::nullopt : split_host_port(text.substr(scheme + 3));
  if (!split) return fail(ErrorCode::INVALID_CONFIG, "Unable to parse {} to a broker endpoint: a listener is NAME://host:port", text);
  if (split->second < 0 || split->second > 65535) return fail(ErrorCode::INVALID_CONFIG, "The port of listener {} is not in the range 0 to 65535", text);
  std::string name(text.substr(0, scheme));
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return ListenerText{std::move(name), split->first, static_cast<uint16_t>(split->second)};
}

Result<std::vector<std::pair<std::string, std::string>>> parse_pairs(std::string_view key, std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& item : split_list(text)) {
    size_t colon = item.rfind(':');
    if (colon == std::string::npos) return fail(ErrorCode::INVALID_CONFIG, "Error parsing configuration property '{}': '{}' is not name:value", key, item);
    auto strip = [](std::string part) {
      while (!part.empty() && part.back() == ' ') part.pop_back();
      part.erase(0, part.find_first_not_of(' ') == std::string::npos ? part.size() : part.find_first_not_of(' '));
      return part;
    };
    pairs.emplace_back(strip(item.substr(0, colon)), strip(item.substr(colon + 1)));
  }
  return pairs;
}

}  // namespace castellan::config

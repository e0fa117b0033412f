// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/storage/voters.h"

#include <arpa/inet.h>

#include <charconv>
#include <optional>

namespace castellan::cli {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

std::optional<int32_t> parse_number(std::string_view text) {
  int32_t number = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<std::pair<NodeId, InitialVoter>> parse_one(std::string_view entry) {
  auto refuse = [entry](std::string_view why) {
    return fail(ErrorCode::INVALID_CONFIG, "Invalid voter '{}': {} A voter is id@host:port:directory-id.", entry, why);
  };
  std::string_view text = entry;
  size_t at = text.find('@');
  if (at == std::string_view::npos) return refuse("No @ found in dynamic voter string.");
  if (at == 0) return refuse("Invalid @ at beginning of dynamic voter string.");
  auto id = parse_number(text.substr(0, at));
  if (!id) return refuse("Failed to parse node id in dynamic voter string.");
  if (*id < 0) return refuse(fmt::format("Invalid negative node id {} in dynamic voter string.", *id));
  text.remove_prefix(at + 1);
  if (text.empty()) return refuse("No hostname found after node id.");
  InitialVoter voter;
  if (text.starts_with('[')) {
    size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return refuse("Hostname began with left bracket, but no right bracket was found.");
    voter.host = text.substr(1, bracket - 1);
    text.remove_prefix(bracket + 1);
  } else {
    size_t colon = text.find(':');
    if (colon == std::string_view::npos) return refuse("No colon following hostname could be found.");
    voter.host = text.substr(0, colon);
    text.remove_prefix(colon);
  }
  if (voter.host.empty()) return refuse("The hostname is empty, so that no other node could reach this voter.");
  voter.host = java_host_text(voter.host);
  if (!text.starts_with(':')) return refuse("Port section must start with a colon.");
  text.remove_prefix(1);
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return refuse("No colon following port could be found.");
  auto port = parse_number(text.substr(0, colon));
  if (!port) return refuse("Failed to parse port in dynamic voter string.");
  if (*port < 0 || *port > 65535) return refuse(fmt::format("Invalid port {} in dynamic voter string.", *port));
  voter.port = static_cast<uint16_t>(*port);
  auto directory_id = Uuid::parse(text.substr(colon + 1));
  if (!directory_id) return refuse("Failed to parse directory ID in dynamic voter string.");
  if (directory_id->is_reserved()) return refuse(fmt::format("Directory ID {} is reserved.", *directory_id));
  voter.directory_id = DirectoryId(*directory_id);
  return std::pair(NodeId(*id), std::move(voter));
}

}  // namespace

std::string java_host_text(const std::string& host) {
  in6_addr address;
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return host;
  std::string text;
  for (int i = 0; i < 16; i += 2) text += fmt::format("{}{:x}", i ? ":" : "", address.s6_addr[i] << 8 | address.s6_addr[i + 1]);
  return text;
}

Result<InitialVoters> parse_initial_voters(std::string_view text) {
  InitialVoters voters;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view entry = trim(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (entry.empty()) continue;
    TRY(auto voter, parse_one(entry));
    for (const auto& [id, other] : voters) {
      if (other.directory_id == voter.second.directory_id) {
        return fail(ErrorCode::INVALID_CONFIG, "Directory ID {} was given for node {} and for node {}: each voter's directory has its own.",
                    other.directory_id, id, voter.first);
      }
    }
    if (!voters.insert(voter).second) return fail(ErrorCode::INVALID_CONFIG, "Node id {} was specified more than once.", voter.first);
  }
  if (voters.empty()) return fail(ErrorCode::INVALID_CONFIG, "No voters given.");
  return voters;
}

}  // namespace castellan::cli

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// How a replica finds a leader that it does not know, or that does not answer: it asks around, one node at a time, the configured
// bootstrap servers and the voters it last knew (P71). Who did not answer in time is asked last for a while, so that a silent node
// costs its timeout once and not at each turn. The longer there is no news, the longer it rests between two questions: a node without a
// leader costs next to nothing.

#include <algorithm>

#include "raft/core.h"

namespace castellan::raft {
namespace {

constexpr Duration rest_max = std::chrono::milliseconds(500);
constexpr Duration rest_for_lost_leader = std::chrono::milliseconds(5);
constexpr int rests_in_silence = 40;  // of the time without news, one part is the rest

}  // namespace

void Core::fetch_from_bootstrap() {
  // Never two fetches at once, even to different nodes: both could bring the same offsets.
  if (connections_.any_in_flight(now_.monotonic) || sync_running_) return;
  std::vector<std::pair<NodeId, Endpoint>> servers;
  for (size_t i = 0; i < config_.bootstrap_servers.size(); ++i) {
    servers.emplace_back(NodeId{-2 - static_cast<int32_t>(i)}, config_.bootstrap_servers[i]);
  }
  // The voters last known may have moved away from the configured addresses (P71), and are all there is with static voters.
  for (const auto& [id, voter] : voters()) {
    const auto address = address_of(id);
    if (id != config_.id && address && std::ranges::find(config_.bootstrap_servers, *address) == config_.bootstrap_servers.end()) {
      servers.emplace_back(id, *address);
    }
  }
  for (const auto& [id, address] : servers) {
    if (connections_.timed_out(id, now_.monotonic)) note_silence(id);
  }
  const bool all_silent = std::ranges::all_of(servers, [&](const auto& server) { return is_silent(server.second); });
  for (size_t tried = 0; tried < servers.size(); ++tried) {
    const auto& [id, address] = servers[next_bootstrap_server_++ % servers.size()];
    if (connections_.ready(id, now_.monotonic) && (all_silent || !is_silent(address))) return fetch_from(id, address);
  }
}

void Core::note_silence(NodeId peer) {
  if (const auto asked = asked_.find(peer); asked != asked_.end()) silent_until_[asked->second] = now_.monotonic + 2 * config_.request_timeout;
}

void Core::note_answer(NodeId peer) {
  if (const auto asked = asked_.find(peer); asked != asked_.end()) silent_until_.erase(asked->second);
}

bool Core::is_silent(const Endpoint& address) const {
  const auto found = silent_until_.find(address);
  return found != silent_until_.end() && found->second > now_.monotonic;
}

Duration Core::retry_backoff() const {
  // Somebody is about to lead.
  if (lost_leader_) return std::min<Duration>(config_.retry_backoff, rest_for_lost_leader);
  const Duration rest = std::min(rest_max, (now_.monotonic - last_news_) / rests_in_silence);
  return std::max(config_.retry_backoff, rest);
}

}  // namespace castellan::raft

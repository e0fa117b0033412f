// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/connections.h"

#include <algorithm>

namespace castellan::raft {

bool Connections::ready(NodeId peer, MonotonicTime now) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() || found->second.until <= now;
}

bool Connections::backing_off(NodeId peer, MonotonicTime now) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && !found->second.awaiting && found->second.until > now;
}

bool Connections::timed_out(NodeId peer, MonotonicTime now) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.awaiting && found->second.until <= now;
}

bool Connections::any_in_flight(MonotonicTime now) const {
  return std::ranges::any_of(peers_, [&](const auto& peer) { return peer.second.awaiting && peer.second.until > now; });
}

void Connections::sent(NodeId peer, uint64_t request_id, MonotonicTime deadline) { peers_[peer] = {true, request_id, deadline}; }

std::optional<NodeId> Connections::answered(uint64_t request_id) {
  for (auto& [id, peer] : peers_) {
    if (!peer.awaiting || peer.request_id != request_id) continue;
    const NodeId result = id;
    peers_.erase(id);
    return result;
  }
  return std::nullopt;
}

void Connections::back_off(NodeId peer, MonotonicTime until) { peers_[peer] = {false, 0, until}; }

void Connections::reset() {
  std::erase_if(peers_, [](const auto& peer) { return peer.second.awaiting; });
}

MonotonicTime Connections::next_change(MonotonicTime now) const {
  MonotonicTime next = MonotonicTime::never();
  for (const auto& [id, peer] : peers_) {
    if (peer.until > now) next = std::min(next, peer.until);
  }
  return next;
}

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/peer_versions.h"

#include "wire/codec.h"
#include "wire/messages/api_versions_response.h"

namespace castellan::quorum {

bool PeerVersions::must_ask(const raft::Endpoint& peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.must_ask;
}

std::optional<int16_t> PeerVersions::version(const raft::Endpoint& peer, int16_t api_key, int16_t newest) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || !found->second.ranges) return newest;
  const auto range = found->second.ranges->find(api_key);
  if (range == found->second.ranges->end() || range->second.min > newest) return std::nullopt;
  return std::min(newest, range->second.max);
}

Result<void> PeerVersions::learn(const raft::Endpoint& peer, BytesView answer) {
  wire::Reader reader(answer, wire::DecodeMode::LENIENT);
  TRY(const auto response, wire::decode_as<wire::ApiVersionsResponse>(api_versions_version, reader));
  if (response.error_code != 0) return fail(static_cast<ErrorCode>(response.error_code), "ApiVersions was refused");
  std::map<int16_t, raft::VersionRange> ranges;
  for (const auto& api : response.api_keys) ranges[api.api_key] = {api.min_version, api.max_version};
  peers_[peer] = {.must_ask = false, .ranges = std::move(ranges)};
  return {};
}

void PeerVersions::note_failure(const raft::Endpoint& peer, ErrorCode error) {
  const auto found = peers_.find(peer);
  const bool learned = found != peers_.end() && found->second.ranges;
  // A timeout tells nothing of versions: a peer that does not know one ends the connection.
  const bool doubtful = error == ErrorCode::NETWORK_EXCEPTION || (learned && error == ErrorCode::BROKER_NOT_AVAILABLE);
  if (doubtful) peers_[peer] = {.must_ask = true, .ranges = std::nullopt};
}

}  // namespace castellan::quorum

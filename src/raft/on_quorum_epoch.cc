// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// BeginQuorumEpoch, by which a new leader makes itself known, and EndQuorumEpoch, by which one that resigns names who should
// follow it.

#include <algorithm>

#include "raft/core.h"

namespace castellan::raft {

void Core::on_begin_quorum_epoch(uint64_t token, const std::string& listener, const BeginQuorumEpochRequest& request) {
  BeginQuorumEpochResponse response;
  if (const ErrorCode error = head_error(request.head); error != ErrorCode::NONE) {
    response.head.error_top = error;
    return reply(token, response);
  }
  ErrorCode error = ErrorCode::NONE;
  if (lost_leader_ && lost_leader_->second == request.leader && request.epoch == epoch_) lost_leader_.reset();  // it is back
  if (request.epoch < epoch_) {
    error = ErrorCode::FENCED_LEADER_EPOCH;
  } else if (request.leader.value < 0 || !follow_message(request.epoch, request.leader, request.leader_endpoints)) {
    error = ErrorCode::INVALID_REQUEST;  // also: names another leader than is known in this epoch
  } else if (!is_own_voter_key(request.voter)) {
    error = ErrorCode::INVALID_VOTER_KEY;
  }
  response.head = response_head(listener, error);
  reply(token, response);
}

void Core::on_begin_quorum_epoch_response(NodeId from, const BeginQuorumEpochResponse&) {
  if (auto* leader = std::get_if<Leader>(&role_)) leader->progress.acknowledge(from);
}

void Core::on_end_quorum_epoch(uint64_t token, const std::string& listener, const EndQuorumEpochRequest& request) {
  EndQuorumEpochResponse response;
  if (const ErrorCode error = head_error(request.head); error != ErrorCode::NONE) {
    response.head.error_top = error;
    return reply(token, response);
  }
  ErrorCode error = ErrorCode::NONE;
  if (request.epoch < epoch_) {
    error = ErrorCode::FENCED_LEADER_EPOCH;
  } else if (request.leader.value < 0 || !follow_message(request.epoch, request.leader, request.leader_endpoints)) {
    error = ErrorCode::INVALID_REQUEST;
  } else if (auto* follower = std::get_if<Follower>(&role_); follower && follower->leader.id == request.leader) {
    // The first in the list stands at once, the others a little later each, those not named last (KIP-595).
    const auto& candidates = request.preferred_candidates;
    const auto own = std::ranges::find_if(candidates, [&](const ReplicaKey& key) {
      return key.id == config_.id && (!key.has_directory() || key.directory == config_.directory);
    });
    const auto position = own - candidates.begin();
    Duration wait = config_.election_backoff_max;
    if (position == 0 && !candidates.empty()) {
      wait = Duration(0);
    } else if (own != candidates.end()) {
      const auto longest = config_.election_backoff_max / std::chrono::milliseconds(1);
      const auto shifts = std::min<size_t>(candidates.size() - 1, 62);
      const auto milliseconds = (longest >> shifts) << std::min<int64_t>(position - 1, 62);
      wait = std::min<Duration>(config_.election_backoff_max, std::chrono::milliseconds(milliseconds));
    }
    follower->fetch_deadline = now_.monotonic + wait;
    follower->has_fetched = false;  // so that whoever stands first gets this one's pre-vote (P64)
    note_lost_leader(request.leader);
  }
  response.head = response_head(listener, error);
  reply(token, response);
}

void Core::on_end_quorum_epoch_response(NodeId from, const EndQuorumEpochResponse&) {
  if (auto* resigned = std::get_if<Resigned>(&role_)) resigned->unacknowledged.erase(from);
}

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Votes and pre-votes, asked and answered.

#include <algorithm>

#include "base/planted_fault.h"
#include "raft/core.h"

namespace castellan::raft {
namespace {

constexpr Duration lost_leader_retry = std::chrono::milliseconds(5);

}  // namespace

bool Core::may_vote_for(LogPosition candidate) const {
  if (!blank_ || !has_what_was_promised()) return may_vote();
  if (candidate == LogPosition{}) return may_vote();
  return std::ranges::all_of(voters(), [&](const auto& entry) {
    const auto heard = heard_ends_.find(entry.first);
    return entry.first == config_.id || (heard != heard_ends_.end() && candidate >= heard->second);
  });
}

void Core::on_vote(uint64_t token, const std::string& listener, const VoteRequest& request) {
  VoteResponse response;
  if (const ErrorCode error = head_error(request.head); error != ErrorCode::NONE) {
    response.head.error_top = error;
    return reply(token, response);
  }
  const auto refuse = [&](ErrorCode error) {
    response.head = response_head(listener, error);
    reply(token, response);
  };
  const bool epochs_fit = request.pre_vote ? request.last.epoch <= request.epoch : request.last.epoch < request.epoch;
  if (request.last.offset.value < 0 || request.last.epoch.value < 0 || !epochs_fit) return refuse(ErrorCode::INVALID_REQUEST);
  if (blank_ && voters().contains(request.replica)) {
    LogPosition& heard = heard_ends_[request.replica.id];
    heard = std::max(heard, request.last);
  }
  if (request.epoch < epoch_) return refuse(ErrorCode::FENCED_LEADER_EPOCH);
  if (request.replica.id.value < 0) return refuse(ErrorCode::INVALID_REQUEST);

  // A vote of a later epoch ends this one, whoever asks. A pre-vote only asks what if, and must not (P59): a node that is cut
  // off asks again and again, and would depose a leader that everybody else follows.
  if (request.epoch > epoch_ && !request.pre_vote) become_unattached_in_higher_epoch(request.epoch);
  if (!is_own_voter_key(request.voter)) return refuse(ErrorCode::INVALID_VOTER_KEY);

  const auto* follower = std::get_if<Follower>(&role_);
  const bool again = planted(Fault::vote_granted_twice);
  response.granted = may_vote_for(request.last) && may_grant({.standing = standing_of(role_),
                                                              .leader_known = leader().has_value(),
                                                              .has_fetched = follower && follower->has_fetched && !planted(Fault::pre_vote_by_follower),
                                                              .voted = again ? std::nullopt : election_state().voted,
                                                              .candidate = request.replica,
                                                              .pre_vote = request.pre_vote,
                                                              .up_to_date = is_up_to_date(request.last)});
  if (response.granted && !request.pre_vote && (!election_state().voted || again)) {
    const MonotonicTime deadline = now_.monotonic + random_election_timeout();
    if (auto* unattached = std::get_if<Unattached>(&role_)) {
      unattached->voted = request.replica;
      unattached->election_deadline = deadline;
    } else if (auto* prospective = std::get_if<Prospective>(&role_)) {
      prospective->voted = request.replica;
      prospective->election_deadline = deadline;
      prospective->tally = Tally(voters(), self());
    }
    if (!planted(Fault::vote_not_saved)) save_election();
  }
  response.head = response_head(listener);
  reply(token, response);
}

void Core::on_vote_response(NodeId from, const VoteResponse& response) {
  if (auto* prospective = std::get_if<Prospective>(&role_)) {
    if (!response.granted && lost_leader_) {
      // It does not know yet that the leader is gone, or another one is before us: asked again in a moment.
      connections_.back_off(from, now_.monotonic + lost_leader_retry);
      return;
    }
    prospective->tally.record(from, response.granted, true);
  } else if (auto* candidate = std::get_if<Candidate>(&role_)) {
    candidate->tally.record(from, response.granted, false);
  }
}

}  // namespace castellan::raft

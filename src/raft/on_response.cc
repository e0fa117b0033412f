// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What all answers of peers have in common: whose answer it is, whether it is still awaited, and what its epoch and leader
// say, before what it is about.

#include "base/planted_fault.h"
#include "raft/core.h"

namespace castellan::raft {

void Core::on_response(Response& response) {
  const auto from = connections_.answered(response.request_id);
  if (!from) return;  // the role that asked is over, or it came too late

  if (const auto* none = std::get_if<NoResponse>(&response.body)) {
    if (none->error == ErrorCode::REQUEST_TIMED_OUT) note_silence(*from);
    // Asked in a version without pre-votes: an old voter cannot be asked, only voted against (KIP-996).
    if (none->error == ErrorCode::UNSUPPORTED_VERSION && std::holds_alternative<Prospective>(role_)) return become_candidate();
    if (voter_change_ && voter_change_->probe == response.request_id) return on_api_versions_response(*from, {.error = none->error, .kraft_version = {}});
    // A leader too old for UpdateRaftVoter is not told again.
    if (auto* follower = std::get_if<Follower>(&role_); follower && none->error == ErrorCode::UNSUPPORTED_VERSION) follower->update_voter_done = true;
    connections_.back_off(*from, now_.monotonic + retry_backoff());
    return;
  }
  note_answer(*from);
  struct Visitor {
    Core& core;
    NodeId from;
    void operator()(VoteResponse& in) {
      // A pre-vote moves nobody's epoch, so a voter in an earlier epoch may grant one (P59).
      const bool granted_from_below = in.granted && in.head.epoch < core.epoch_ && std::holds_alternative<Prospective>(core.role_) &&
                                      in.head.error_top == ErrorCode::NONE && in.head.error == ErrorCode::NONE;
      const bool believed = granted_from_below || (in.granted && planted(Fault::pre_vote_counted_as_vote));
      if (believed || core.on_response_head(from, in.head)) core.on_vote_response(from, in);
    }
    void operator()(BeginQuorumEpochResponse& in) {
      if (core.on_response_head(from, in.head)) core.on_begin_quorum_epoch_response(from, in);
    }
    void operator()(EndQuorumEpochResponse& in) {
      if (core.on_response_head(from, in.head)) core.on_end_quorum_epoch_response(from, in);
    }
    void operator()(FetchResponse& in) {
      if (core.on_response_head(from, in.head)) core.on_fetch_response(from, in);
    }
    void operator()(FetchSnapshotResponse& in) {
      // A snapshot that is gone is the handler's business.
      const bool gone = in.head.error == ErrorCode::SNAPSHOT_NOT_FOUND;
      ResponseHead head = in.head;
      if (gone) head.error = ErrorCode::NONE;
      if (core.on_response_head(from, head)) core.on_fetch_snapshot_response(from, in);
    }
    void operator()(DescribeQuorumResponse&) {}
    void operator()(VoterChangeResponse& in) { core.on_voter_change_response(from, in); }
    void operator()(ApiVersionsResponse& in) { core.on_api_versions_response(from, in); }
    void operator()(NoResponse&) {}
  };
  std::visit(Visitor{*this, *from}, response.body);
}

// True when the message's own part is to be looked at.
bool Core::on_response_head(NodeId from, const ResponseHead& head) {
  const auto back_off = [&] { connections_.back_off(from, now_.monotonic + retry_backoff()); };
  if (head.error_top == ErrorCode::CLUSTER_AUTHORIZATION_FAILED) {
    stop(fmt::format("node {} does not let this node take part in the quorum: CLUSTER_AUTHORIZATION_FAILED", from));
    return false;
  }
  if (head.error_top == ErrorCode::UNSUPPORTED_VERSION && std::holds_alternative<Prospective>(role_)) {
    become_candidate();
    return false;
  }
  if (head.error_top != ErrorCode::NONE) {
    back_off();
    return false;
  }
  if (head.epoch < epoch_ || head.error == ErrorCode::UNKNOWN_LEADER_EPOCH) return false;
  // It is back, found by its id or by its address.
  const bool leads = head.error == ErrorCode::NONE && head.leader.value >= 0 && (from == head.leader || from.value < 0);
  if (leads && lost_leader_ && lost_leader_->second == head.leader) lost_leader_.reset();

  Endpoints endpoints;
  if (head.leader_endpoint && head.leader_endpoint->id == head.leader) endpoints.emplace(config_.default_listener, head.leader_endpoint->endpoint);
  const Epoch epoch_before = epoch_;
  const size_t role_before = role_.index();
  if (!follow_message(head.epoch, head.leader, std::move(endpoints))) {
    back_off();
    return false;
  }
  // It resigned, or was started again, and will not lead in this epoch any more.
  if (head.error == ErrorCode::NOT_LEADER_OR_FOLLOWER && head.leader == from && head.epoch == epoch_) on_peer_lost(from);
  if (head.error == ErrorCode::FENCED_LEADER_EPOCH || head.error == ErrorCode::NOT_LEADER_OR_FOLLOWER) {
    // Learned something, or there is nothing to learn there now.
    if (epoch_ == epoch_before && role_.index() == role_before) back_off();
    return false;
  }
  if (epoch_ != epoch_before) return false;
  // An answer that showed the leader to a replica that asked around may be the leader's own, with records.
  if (role_.index() != role_before && head.error != ErrorCode::NONE) return false;
  if (head.error == ErrorCode::BROKER_NOT_AVAILABLE) {
    back_off();
    return false;
  }
  // INVALID_VOTER_KEY too: another disk is there now, and asking again at once would never end.
  if (head.error != ErrorCode::NONE) {
    back_off();
    return false;
  }
  return true;
}

}  // namespace castellan::raft

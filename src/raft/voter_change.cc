// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Adding, removing and updating voters (KIP-853): one change at a time, each a Voters record, in force from its append.
// What is waiting for is answered at once with REQUEST_TIMED_OUT where Kafka does so: the caller tries again.

#include <algorithm>

#include "base/check.h"
#include "base/planted_fault.h"
#include "raft/core.h"

namespace castellan::raft {
namespace {

VoterChangeResponse refusal(ErrorCode error, std::string message) {
  return {.head = {.error_top = error}, .message = std::move(message)};
}

}  // namespace

// What stands in the way of any change, in Kafka's order; the parts that depend on the request come between.
std::optional<Error> Core::voter_change_obstacle(const RequestHead& head) const {
  if (head.cluster_id && *head.cluster_id != config_.cluster_id) {
    return Error{ErrorCode::INCONSISTENT_CLUSTER_ID,
                 fmt::format("Cluster id {} of the request is not that of this cluster, {}.", *head.cluster_id, config_.cluster_id)};
  }
  return std::nullopt;
}

void Core::on_add_voter(uint64_t token, const AddVoterRequest& request) {
  if (auto obstacle = voter_change_obstacle(request.head)) return reply(token, refusal(obstacle->code, obstacle->message));
  if (const ErrorCode error = leader_request_error(std::nullopt); error != ErrorCode::NONE) return reply(token, refusal(error, ""));
  const ReplicaKey key = request.voter.key;
  if (key.id.value < 0 || !key.has_directory()) {
    return reply(token, refusal(ErrorCode::INVALID_REQUEST, fmt::format("Voter {} is not a node id with a directory id.", key)));
  }
  if (!request.voter.endpoints.contains(config_.default_listener)) {
    return reply(token, refusal(ErrorCode::INVALID_REQUEST, fmt::format("Voter {} has no endpoint for the listener {}.", key, config_.default_listener)));
  }
  const bool hurried = planted(Fault::two_voter_changes);
  if (voter_change_ && !hurried) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "Another voter change is under way. Try again."));
  if (!high_watermark_) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "The leader does not know yet what is committed. Try again."));
  if (kraft_version() < 1) {
    return reply(token, refusal(ErrorCode::UNSUPPORTED_VERSION, fmt::format("The cluster has kraft.version {}; voters can be added from 1 on.", kraft_version())));
  }
  const auto set = voters_.last();
  if (!set || (set->offset >= *high_watermark_ && !hurried)) {
    return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "The latest voter set is not committed yet. Try again."));
  }
  if (set->value.find(key.id)) {
    return reply(token, refusal(ErrorCode::DUPLICATE_VOTER, fmt::format("The voter id for {} is already in the set of voters.", key)));
  }
  probe_voter({.kind = VoterChange::Kind::add, .token = token, .voter = request.voter, .ack_when_committed = request.ack_when_committed});
}

void Core::on_remove_voter(uint64_t token, const RemoveVoterRequest& request) {
  if (auto obstacle = voter_change_obstacle(request.head)) return reply(token, refusal(obstacle->code, obstacle->message));
  if (const ErrorCode error = leader_request_error(std::nullopt); error != ErrorCode::NONE) return reply(token, refusal(error, ""));
  if (request.voter.id.value < 0 || !request.voter.has_directory()) {
    return reply(token, refusal(ErrorCode::INVALID_REQUEST, fmt::format("Voter {} is not a node id with a directory id.", request.voter)));
  }
  const bool hurried = planted(Fault::two_voter_changes);
  if (voter_change_ && !hurried) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "Another voter change is under way. Try again."));
  if (!high_watermark_) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "The leader does not know yet what is committed. Try again."));
  if (kraft_version() < 1) {
    return reply(token, refusal(ErrorCode::UNSUPPORTED_VERSION, fmt::format("The cluster has kraft.version {}; voters can be removed from 1 on.", kraft_version())));
  }
  const auto set = voters_.last();
  if (!set || (set->offset >= *high_watermark_ && !hurried)) {
    return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "The latest voter set is not committed yet. Try again."));
  }
  auto changed = set->value.without(request.voter);
  if (!changed) {
    return reply(token, refusal(ErrorCode::VOTER_NOT_FOUND, fmt::format("Cannot remove voter {} from the set of voters.", request.voter)));
  }
  voter_change_ = VoterChange{.kind = VoterChange::Kind::remove, .token = token, .voter = {.key = request.voter}, .deadline = now_.monotonic + config_.request_timeout};
  voter_change_->offset = next_offset();
  propose_control({.voters = std::move(changed)});
}

void Core::on_update_voter(uint64_t token, const std::string& listener, const UpdateVoterRequest& request) {
  const auto answer = [&](ErrorCode error) {
    VoterChangeResponse response{.head = response_head(listener)};
    response.head.error_top = error;
    reply(token, std::move(response));
  };
  if (voter_change_obstacle(request.head)) return answer(ErrorCode::INCONSISTENT_CLUSTER_ID);
  if (const ErrorCode error = leader_request_error(request.epoch); error != ErrorCode::NONE) return answer(error);
  const Voter& voter = request.voter;
  if (voter.key.id.value < 0 || !voter.key.has_directory()) return answer(ErrorCode::INVALID_REQUEST);
  if (voter.kraft_version.min < 0 || voter.kraft_version.max < voter.kraft_version.min) return answer(ErrorCode::INVALID_REQUEST);
  if (voter_change_ || !high_watermark_) return answer(ErrorCode::REQUEST_TIMED_OUT);
  if (!voter.endpoints.contains(config_.default_listener)) return answer(ErrorCode::INVALID_REQUEST);
  // The leader's own entry changes at the start of its epoch, never so.
  if (voter.key == self()) return answer(ErrorCode::INVALID_REQUEST);
  probe_voter({.kind = VoterChange::Kind::update, .token = token, .listener = listener, .voter = voter});
}

// An address enters the voter set only after it has answered, over a connection of its own (P63).
void Core::probe_voter(VoterChange change) {
  const NodeId id = change.voter.key.id;
  change.deadline = now_.monotonic + config_.request_timeout;
  if (!connections_.ready(id, now_.monotonic)) return answer_voter_change(change, ErrorCode::REQUEST_TIMED_OUT, "The node to ask is busy. Try again.");
  change.probe = send(id, change.voter.endpoints.at(config_.default_listener), ApiVersionsRequest{}, true);
  voter_change_ = std::move(change);
}

void Core::on_api_versions_response(NodeId from, const ApiVersionsResponse& response) {
  if (!is_leader() || !voter_change_ || voter_change_->offset || voter_change_->voter.key.id != from) return;
  VoterChange& change = *voter_change_;
  const Endpoint& address = change.voter.endpoints.at(config_.default_listener);
  if (response.error != ErrorCode::NONE) {
    connections_.back_off(from, now_.monotonic + config_.retry_backoff);
    return finish_voter_change(ErrorCode::REQUEST_TIMED_OUT, fmt::format("{}:{} did not answer.", address.host, address.port));
  }
  if (!response.kraft_version || !response.kraft_version->contains(kraft_version())) {
    return finish_voter_change(ErrorCode::INVALID_REQUEST, fmt::format("{}:{} does not support kraft.version {}.", address.host, address.port, kraft_version()));
  }
  auto& leader = std::get<Leader>(role_);
  std::optional<VoterSet> changed;
  if (change.kind == VoterChange::Kind::add) {
    if (!leader.progress.observer_caught_up(change.voter.key, now_.monotonic)) {
      return finish_voter_change(ErrorCode::REQUEST_TIMED_OUT, fmt::format("Voter {} has not caught up with the leader. Try again.", change.voter.key));
    }
    change.voter.kraft_version = *response.kraft_version;
    changed = voters().with(change.voter);
  } else {
    if (*response.kraft_version != change.voter.kraft_version) return finish_voter_change(ErrorCode::INVALID_REQUEST, "");
    const auto set = voters_.last();
    if (!set || set->offset >= *high_watermark_) return finish_voter_change(ErrorCode::REQUEST_TIMED_OUT, "");
    changed = set->value.with_update(change.voter);
    if (!changed) return finish_voter_change(ErrorCode::VOTER_NOT_FOUND, "");
    leader.progress.heard_from(change.voter.key, now_.monotonic);
  }
  CHECK(changed.has_value(), "voter {} became a member while its change was pending", change.voter.key);
  change.offset = next_offset();
  if (change.kind == VoterChange::Kind::update || !change.ack_when_committed) {
    answer_voter_change(change, ErrorCode::NONE, "");
  }
  propose_control({.voters = std::move(changed)});
}

void Core::answer_voter_change(VoterChange& change, ErrorCode error, std::string message) {
  if (std::exchange(change.answered, true)) return;
  VoterChangeResponse response{.message = std::move(message)};
  if (change.kind == VoterChange::Kind::update) response.head = response_head(change.listener);
  response.head.error_top = error;
  reply(change.token, std::move(response));
}

void Core::finish_voter_change(ErrorCode error, std::string message) {
  if (!voter_change_) return;
  answer_voter_change(*voter_change_, error, std::move(message));
  voter_change_.reset();
}

void Core::check_voter_change() {
  auto* leader = std::get_if<Leader>(&role_);
  if (!leader || !voter_change_) return;
  if (voter_change_->offset && high_watermark_ && *high_watermark_ > *voter_change_->offset) {
    const bool self_removed = voter_change_->kind == VoterChange::Kind::remove && !voters().contains(self());
    finish_voter_change(ErrorCode::NONE, "");
    if (self_removed && !planted(Fault::removed_leader_stays)) leader->resign_requested = true;
  } else if (now_.monotonic >= voter_change_->deadline) {
    // The record, if there is one, stays and may yet be committed (P60, P65).
    const bool appended = voter_change_->offset.has_value();
    finish_voter_change(ErrorCode::REQUEST_TIMED_OUT,
                        appended ? "The change is in the log but a majority has not confirmed it in time. It may still take effect: describe the quorum."
                                 : "The node did not answer in time.");
  }
}

// A follower tells the leader of its own listeners when the voter set has others. True when a request was sent.
bool Core::maybe_change_own_voter_entry() {
  auto& role = std::get<Follower>(role_);
  if (now_.monotonic < role.update_voter_deadline) return false;
  role.update_voter_deadline = now_.monotonic + 2 * config_.fetch_timeout;
  const auto found = role.leader.endpoints.find(config_.default_listener);
  if (found == role.leader.endpoints.end() || shutting_down_ || !connections_.ready(role.leader.id, now_.monotonic)) return false;
  const Voter own{self(), config_.listeners, kraft_versions};
  if (is_voter()) {
    const bool differs = kraft_version() >= 1 ? *voters().find(config_.id) != own : !role.update_voter_done;
    if (!differs) return false;
    send(role.leader.id, found->second, UpdateVoterRequest{own_head(), epoch_, own});
    return true;
  }
  if (!config_.can_become_voter || !config_.auto_join || kraft_version() < 1) return false;
  if (const Voter* old = voters().find(config_.id)) {
    send(role.leader.id, found->second, RemoveVoterRequest{own_head(), old->key});
  } else {
    send(role.leader.id, found->second, AddVoterRequest{own_head(), own, false});
  }
  return true;
}

void Core::on_voter_change_response(NodeId from, const VoterChangeResponse& response) {
  if (response.head.epoch > epoch_ || response.head.leader.value >= 0) {
    ResponseHead head = response.head;
    head.error_top = ErrorCode::NONE;
    on_response_head(from, head);
  }
  auto* role = std::get_if<Follower>(&role_);
  if (!role || role->leader.id != from) return;
  const ErrorCode error = response.head.error_top;
  if (error == ErrorCode::NONE || error == ErrorCode::UNSUPPORTED_VERSION) {
    role->update_voter_done = true;
    role->fetch_deadline = now_.monotonic + config_.fetch_timeout;
  }
}

}  // namespace castellan::raft

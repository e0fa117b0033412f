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

// A Voters record that waits for its write is not in the history yet.
const VoterSet* Core::settled_voters() const {
  const auto set = voters_.last();
  const bool one_waits = std::ranges::any_of(waiting_, [](const Waiting& waiting) { return waiting.control && waiting.control->voters; });
  return set && high_watermark_ && set->offset < *high_watermark_ && !one_waits ? &set->value : nullptr;
}

// For describe; empty when there is none.
std::string Core::voter_change_under_way() const {
  if (voter_change_) {
    constexpr std::array words{"Adding", "Removing", "Updating", "kraft.version becomes 1 and the voters' set enters the log"};
    const auto kind = static_cast<size_t>(voter_change_->kind);
    std::string text = words[kind];
    if (voter_change_->kind != VoterChange::Kind::upgrade) text += fmt::format(" voter {}", voter_change_->voter.key);
    if (!voter_change_->offset) return text + ": it is being asked";
    return text + fmt::format(": the record at offset {} is not committed", *voter_change_->offset);
  }
  if (kraft_version() < 1 || settled_voters() || !voters_.last()) return "";
  return fmt::format("The voter set at offset {} is not committed", voters_.last()->offset);
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
  check_voter_change();  // one whose time is over is not in the way (P34)
  if (voter_change_ && !hurried) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "Another voter change is under way. Try again."));
  if (!high_watermark_) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "The leader does not know yet what is committed. Try again."));
  if (kraft_version() < 1) {
    return reply(token, refusal(ErrorCode::UNSUPPORTED_VERSION, fmt::format("The cluster has kraft.version {}; voters can be added from 1 on.", kraft_version())));
  }
  const VoterSet* set = hurried ? &voters() : settled_voters();
  if (!set) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "The latest voter set is not committed yet. Try again."));
  if (set->find(key.id)) {
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
  check_voter_change();  // one whose time is over is not in the way (P34)
  if (voter_change_ && !hurried) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "Another voter change is under way. Try again."));
  if (!high_watermark_) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "The leader does not know yet what is committed. Try again."));
  if (kraft_version() < 1) {
    return reply(token, refusal(ErrorCode::UNSUPPORTED_VERSION, fmt::format("The cluster has kraft.version {}; voters can be removed from 1 on.", kraft_version())));
  }
  const VoterSet* set = hurried ? &voters() : settled_voters();
  if (!set) return reply(token, refusal(ErrorCode::REQUEST_TIMED_OUT, "The latest voter set is not committed yet. Try again."));
  auto changed = set->without(request.voter);
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
  check_voter_change();
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
    if (kraft_version() < 1) {
      // Kept in memory, for the day of the upgrade.
      auto told = leader.told_voters ? leader.told_voters->with_update_of_node(change.voter) : std::nullopt;
      if (!told) return finish_voter_change(ErrorCode::VOTER_NOT_FOUND, "");
      leader.told_voters = std::move(told);
      leader.progress.heard_from(change.voter.key, now_.monotonic);
      return finish_voter_change(ErrorCode::NONE, "");
    }
    const VoterSet* set = settled_voters();
    if (!set) return finish_voter_change(ErrorCode::REQUEST_TIMED_OUT, "");
    changed = set->with_update(change.voter);
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

// The records are proposed before the answer, so what the upper layer proposes after it lies behind them and commits after them.
void Core::on_upgrade_kraft_version(const UpgradeKRaftVersion& upgrade) {
  const auto answer = [&](ErrorCode error, std::string message) { actions_.push_back(KRaftVersionAnswer{upgrade.token, error, std::move(message)}); };
  const auto* leader = std::get_if<Leader>(&role_);
  if (!leader || upgrade.epoch != epoch_ || shutting_down_) return answer(ErrorCode::NOT_CONTROLLER, fmt::format("Node {} does not lead in epoch {}.", config_.id, upgrade.epoch));
  const bool under_way = voter_change_ && voter_change_->kind == VoterChange::Kind::upgrade;
  if (upgrade.level == kraft_version() || (under_way && upgrade.level == 1)) return answer(ErrorCode::NONE, "");
  const auto refuse = [&](std::string_view why) {
    answer(ErrorCode::INVALID_UPDATE_VERSION, fmt::format("Invalid update version {} for feature kraft.version. {}", upgrade.level, why));
  };
  if (upgrade.level != 1 || kraft_version() > upgrade.level || under_way) return refuse(fmt::format("It is {}, and can only be raised to 1.", kraft_version()));
  if (voter_change_) return refuse("A voter change is under way. Try again.");
  if (!high_watermark_) return refuse("The leader does not know yet what is committed. Try again.");
  CHECK(leader->told_voters && leader->told_voters->size() == voters().size(), "a leader with kraft.version 0 does not know its voters");
  for (const auto& [id, voter] : *leader->told_voters) {
    if (!voter.key.has_directory()) {
      return refuse(fmt::format("Voter {} has not told its directory id and listeners to the leader yet. Is it running? It tells within {} ms. Try again.", id,
                                3 * config_.fetch_timeout / std::chrono::milliseconds(1)));
    }
  }
  if (!leader->told_voters->all_support(upgrade.level)) return refuse("Not all voters support it.");
  if (upgrade.validate_only) return answer(ErrorCode::NONE, "");
  // Nobody waits for it here; but it is a change, and there is one at a time (P30).
  voter_change_ = VoterChange{.kind = VoterChange::Kind::upgrade, .answered = true, .deadline = MonotonicTime::never()};
  voter_change_->offset = next_offset() + 1;
  propose_control({.kraft_version = upgrade.level, .voters = leader->told_voters});
  answer(ErrorCode::NONE, "");
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
    if (self_removed) leader->resign_requested = true;
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

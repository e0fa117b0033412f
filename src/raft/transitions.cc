// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// How a replica changes its role: Core::enter is the only place that does, everything else says what the new role is.

#include <algorithm>

#include "base/check.h"
#include "base/planted_fault.h"
#include "raft/core.h"

namespace castellan::raft {

void Core::enter(Epoch epoch, Role role, bool save) {
  CHECK(epoch >= epoch_, "epoch {} after {}", epoch, epoch_);
  const bool was_leader = is_leader();
  if (const auto* follower = std::get_if<Follower>(&role_); follower && follower->download) {
    actions_.push_back(DropSnapshotDownload{follower->download->id});
  }
  if (epoch > epoch_ || std::holds_alternative<Follower>(role)) last_news_ = now_.monotonic;
  epoch_ = epoch;
  role_ = std::move(role);
  if (std::holds_alternative<Follower>(role_) || is_leader()) lost_leader_.reset();
  if (!planted(Fault::pre_vote_counted_as_vote)) connections_.reset();
  if (save) save_election();
  if (was_leader) {
    // The upper layer drops what it proposed when it hears of the change.
    waiting_.clear();
    waiting_bytes_ = 0;
    fail_parked_fetches();
    finish_voter_change(ErrorCode::NOT_LEADER_OR_FOLLOWER, "");
  }
  announce_leader();
}

void Core::save_election() {
  const ElectionState state = election_state();
  // Nothing that rests on an unperformed save has left yet, so the newer state may take its place.
  for (Action& action : actions_) {
    auto* save = std::get_if<SaveElection>(&action);
    if (save && save->id == election_save_running_) {
      save->state = state;
      save->kraft_version = kraft_version();
      return;
    }
  }
  election_save_running_ = ++last_id_;
  actions_.push_back(SaveElection{election_save_running_, state, kraft_version()});
}

void Core::announce_leader() {
  if (is_leader()) return;  // become_leader does, when it knows where its own records end
  std::optional<NodeId> known = std::holds_alternative<Resigned>(role_) ? std::nullopt : leader();
  if (announced_ == std::pair(epoch_, known)) return;
  announced_ = {epoch_, known};
  actions_.push_back(LeaderChanged{.epoch = epoch_, .leader = known});
}

void Core::become_initial(const Recovered& recovered) {
  const ElectionState stored = recovered.election.value_or(ElectionState{});
  const Epoch log_epoch = log_.last_epoch();
  epoch_ = std::max(stored.epoch, log_epoch);
  const MonotonicTime election_deadline = now_.monotonic + random_election_timeout();
  const bool is_own_vote = stored.voted && stored.voted->id == config_.id && (!stored.voted->has_directory() || *stored.voted == self());

  if (stored.epoch < log_epoch) {
    // The file is older than the log: whom this replica voted for is not known, but that epoch is over for it.
    role_ = Unattached{.election_deadline = election_deadline};
  } else if (config_.id.value >= 0 && stored.leader == config_.id) {
    // What this leader had not synced may be gone, so it must not write in this epoch again (KIP-595).
    Resigned resigned{.voters = voters(), .election_deadline = election_deadline};
    for (const auto& [id, voter] : voters()) {
      if (id != config_.id) resigned.unacknowledged.insert(id);
    }
    role_ = std::move(resigned);
    if (planted(Fault::leader_restarts_as_leader) && is_voter()) {
      role_ = Candidate{.tally = Tally(voters(), self()), .election_deadline = election_deadline};
      become_leader({});
      return;
    }
  } else if (config_.id.value >= 0 && is_own_vote && is_voter()) {
    role_ = Candidate{.tally = Tally(voters(), self()), .election_deadline = election_deadline};
  } else if (stored.leader.value >= 0) {
    const Voter* leader = voters().find(stored.leader);
    if (leader && !leader->endpoints.empty()) {
      role_ = Follower{.leader = {stored.leader, leader->endpoints},
                       .voted = stored.voted,
                       .fetch_deadline = now_.monotonic + config_.fetch_timeout,
                       .update_voter_deadline = now_.monotonic + 2 * config_.fetch_timeout,
                       .download = std::nullopt};
    } else {
      role_ = Unattached{.leader = stored.leader, .voted = stored.voted, .election_deadline = election_deadline};
    }
  } else {
    role_ = Unattached{.leader = std::nullopt, .voted = stored.voted, .election_deadline = election_deadline};
  }
  // The only voter has nobody to wait for: poll makes it leader at once, in a new epoch unless it was standing in this one.
  const bool alone = is_voter() && voters().is_only_voter(self()) && may_vote();
  if (alone && !std::holds_alternative<Candidate>(role_)) {
    role_ = Prospective{.leader = std::nullopt, .voted = std::nullopt, .tally = Tally(voters(), self()), .election_deadline = election_deadline};
  }
  save_election();
  announce_leader();
}

void Core::become_unattached(Epoch epoch, std::optional<NodeId> leader, std::optional<ReplicaKey> voted, MonotonicTime election_deadline) {
  const bool from_leading = is_leader() || std::holds_alternative<Resigned>(role_);
  enter(epoch, Unattached{.leader = leader, .voted = voted, .election_deadline = election_deadline}, !planted(Fault::vote_not_saved));
  if (from_leading) high_watermark_.reset();
}

void Core::become_unattached_in_higher_epoch(Epoch epoch, std::optional<NodeId> leader) {
  CHECK(epoch > epoch_, "epoch {} is not above {}", epoch, epoch_);
  // A nominee goes on waiting as long as it would have; others start to.
  MonotonicTime deadline = now_.monotonic + random_election_timeout();
  if (const auto* role = std::get_if<Unattached>(&role_)) deadline = role->election_deadline;
  if (const auto* role = std::get_if<Prospective>(&role_)) deadline = role->election_deadline;
  if (const auto* role = std::get_if<Candidate>(&role_)) deadline = role->election_deadline;
  become_unattached(epoch, leader, planted(Fault::vote_kept_in_later_epoch) ? election_state().voted : std::nullopt, deadline);
}

void Core::become_follower(Epoch epoch, KnownLeader leader) {
  CHECK(!leader.endpoints.empty() && leader.id != config_.id, "cannot follow {}", leader.id);
  const bool from_leading = is_leader() || std::holds_alternative<Resigned>(role_);
  CHECK(!from_leading || epoch > epoch_, "a leader of epoch {} cannot follow in it", epoch_);
  std::optional<ReplicaKey> voted;
  if (epoch == epoch_) voted = election_state().voted;
  if (epoch > epoch_ || this->leader() != leader.id) connections_.forget(leader.id);  // a new leader is asked at once
  const MonotonicTime fetch_deadline = now_.monotonic + fetch_timeout_behind(leader.id);
  enter(epoch,
        Follower{.leader = std::move(leader),
                 .voted = voted,
                 .fetch_deadline = fetch_deadline,
                 .update_voter_deadline = now_.monotonic + 2 * config_.fetch_timeout,
                 .download = std::nullopt},
        true);
  if (from_leading) high_watermark_.reset();
}

void Core::become_prospective() {
  CHECK(is_voter(), "only a voter stands for election");
  std::optional<KnownLeader> known;
  if (const auto* follower = std::get_if<Follower>(&role_); follower && !lost_leader_) known = follower->leader;
  if (const auto* unattached = std::get_if<Unattached>(&role_); unattached && unattached->leader) known = KnownLeader{*unattached->leader, {}};
  std::optional<ReplicaKey> voted = election_state().voted;
  enter(epoch_,
        Prospective{.leader = std::move(known),
                    .voted = voted,
                    .tally = Tally(voters(), self()),
                    .election_deadline = now_.monotonic + random_election_timeout()},
        false);
}

void Core::become_candidate() {
  CHECK(is_voter() && std::holds_alternative<Prospective>(role_), "{} cannot be a candidate", name_of(role_));
  Tally tally(voters(), self());
  if (lost_leader_) tally.record(lost_leader_->second, false, false);  // nobody waits for its vote
  enter(epoch_ + (planted(Fault::candidate_keeps_epoch) ? 0 : 1),
        Candidate{.tally = std::move(tally), .election_deadline = now_.monotonic + random_election_timeout()}, !planted(Fault::candidacy_not_saved));
}

void Core::become_leader(std::vector<NodeId> granting_voters) {
  CHECK(is_voter() && std::holds_alternative<Candidate>(role_), "{} cannot lead", name_of(role_));
  blank_ = false;
  enter(epoch_,
        Leader{.epoch_start = log_.end,
               .progress = Progress(self(), voters(), now_, config_.fetch_timeout + config_.fetch_timeout / 2),
               .granting_voters = granting_voters,
               .begin_quorum_epoch_deadline = now_.monotonic},
        true);
  // Which of the records before this epoch are committed is known once one of this epoch is.
  high_watermark_.reset();
  const Voter own{self(), config_.listeners, kraft_versions};
  if (kraft_version() < 1) std::get<Leader>(role_).told_voters = voters().with_update_of_node(own);
  if (planted(Fault::leader_takes_log_for_committed)) publish_high_watermark(log_.end);

  ControlRecords records{.leader_change = LeaderChange{config_.id, {}, std::move(granting_voters)}};
  for (const auto& [id, voter] : voters()) records.leader_change->voters.push_back(id);
  if (kraft_version() >= 1) {
    const auto set = voters_.last();
    CHECK(set.has_value(), "kraft.version {} without a voter set", kraft_version());
    const Voter* entry = set->value.find(config_.id);
    // The bootstrap snapshot is not replicated: its voters enter the log here. So does a change of this node's own listeners.
    if (set->offset.value < 0 || (entry && *entry != own)) {
      records.kraft_version = kraft_version();
      records.voters = set->value.with_update(own).value_or(set->value);
    }
  }
  if (!planted(Fault::leader_change_not_written)) propose_control(std::move(records));
  announced_ = {epoch_, config_.id};
  actions_.push_back(LeaderChanged{.epoch = epoch_, .leader = config_.id, .is_self = true, .epoch_end = next_offset()});
}

void Core::become_resigned() {
  const auto* leader = std::get_if<Leader>(&role_);
  CHECK(leader, "{} cannot resign", name_of(role_));
  Resigned resigned{.preferred_successors = leader->progress.successors(),
                    .voters = voters(),
                    .election_deadline = now_.monotonic + random_election_timeout()};
  for (const auto& [id, voter] : voters()) {
    if (id != config_.id) resigned.unacknowledged.insert(id);
  }
  enter(epoch_, std::move(resigned), false);
  high_watermark_.reset();
}

bool Core::follow_message(Epoch epoch, NodeId named, Endpoints endpoints) {
  if (epoch < epoch_) return true;
  const std::optional<NodeId> known = leader();
  if (named == config_.id && named.value >= 0) return epoch == epoch_ && known == named;
  if (named.value >= 0 && endpoints.empty()) {
    if (const Voter* voter = voters().find(named)) endpoints = voter->endpoints;
  }
  if (epoch > epoch_) {
    if (named.value >= 0 && !endpoints.empty()) {
      become_follower(epoch, {named, std::move(endpoints)});
    } else {
      become_unattached_in_higher_epoch(epoch, named.value >= 0 ? std::optional(named) : std::nullopt);
    }
    return true;
  }
  if (named.value < 0) return true;
  if (known && *known != named) return false;
  // Others still name the leader whose end this replica has seen. Only it can say that it is there (on_response, BeginQuorumEpoch).
  if (lost_leader_ == std::pair(epoch, named)) return true;
  const bool new_leader = !known || std::holds_alternative<Unattached>(role_);
  if (!endpoints.empty() && (new_leader || leader_endpoints().size() < endpoints.size())) {
    become_follower(epoch, {named, std::move(endpoints)});
  }
  return true;
}

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a replica does by itself as time passes: elections, fetching, keeping and giving up leadership.

#include <algorithm>

#include "base/check.h"
#include "base/planted_fault.h"
#include "raft/core.h"

namespace castellan::raft {

void Core::poll() {
  // One transition may call for the next: the only voter goes from Unattached to Leader at once. A chain longer than the
  // number of roles would be a loop.
  for (int transitions = 0;; ++transitions) {
    CHECK(transitions < 12, "{} in epoch {} does not come to rest", name_of(role_), epoch_);
    const size_t before = role_.index();
    const Epoch epoch_before = epoch_;
    struct Visitor {
      Core& core;
      void operator()(const Unattached&) { core.poll_unattached(); }
      void operator()(const Follower&) { core.poll_follower(); }
      void operator()(const Prospective&) { core.poll_prospective(); }
      void operator()(const Candidate&) { core.poll_candidate(); }
      void operator()(const Leader&) { core.poll_leader(); }
      void operator()(const Resigned&) { core.poll_resigned(); }
    };
    std::visit(Visitor{*this}, role_);
    if (role_.index() == before && epoch_ == epoch_before) break;
  }
  if (shutting_down_ && !shut_down_done_) {
    const auto known = leader();
    const bool alone = is_voter() && voters().is_only_voter(self());
    if (!is_voter() || alone || (known && *known != config_.id)) {
      shut_down_done_ = true;
      actions_.push_back(ShutDownDone{});
    }
  }
}

void Core::poll_unattached() {
  const auto& role = std::get<Unattached>(role_);
  if (stands() && now_.monotonic >= role.election_deadline) return become_prospective();
  // Within milliseconds there is an election; a question that is still open then would hold up a vote.
  if (lost_leader_ && stands()) return;
  fetch_from_bootstrap();
}

void Core::poll_prospective() {
  const auto& role = std::get<Prospective>(role_);
  if (role.tally.won()) return become_candidate();
  const bool timed_out = now_.monotonic >= role.election_deadline;
  if (role.tally.lost() || timed_out || !is_voter()) {
    if (role.leader && !role.leader->endpoints.empty()) return become_follower(epoch_, *role.leader);
    const std::optional<NodeId> known = role.leader ? std::optional(role.leader->id) : std::nullopt;
    auto wait = timed_out && !role.tally.lost() ? Duration(0) : random_election_timeout();
    // Rests one step even when time is up, so that a bootstrap server is asked (P39).
    wait = lost_leader_ ? ranked_wait() : std::max<Duration>(wait, config_.retry_backoff);
    become_unattached(epoch_, known, role.voted, now_.monotonic + wait);
    return;
  }
  for (const auto& [id, voter] : role.tally.voters()) {
    const auto address = address_of(id);
    if (!address || id == config_.id || role.tally.has_answered(id) || !connections_.ready(id, now_.monotonic)) continue;
    send(id, *address, VoteRequest{own_head(), epoch_, self(), voter.key, log_.last(), true});
  }
}

void Core::poll_candidate() {
  auto& role = std::get<Candidate>(role_);
  if (role.tally.won()) return become_leader(role.tally.granting());
  if (now_.monotonic >= role.election_deadline && is_voter()) return become_prospective();
  if (role.tally.lost()) {
    // Waits out its time: another candidate may be about to win. After a crash every candidacy is quick, so this one ends.
    if (lost_leader_) role.election_deadline = std::min(role.election_deadline, now_.monotonic + ranked_wait());
    return;
  }
  // A voter repeats its vote when it is asked again, without another look. So what this node asks with must outlive a crash: after
  // one it would ask with less (spec/mistakes/candidate-not-synced.cfg).
  if (log_.synced_end < log_.end) return;
  for (const auto& [id, voter] : role.tally.voters()) {
    const auto address = address_of(id);
    if (!address || id == config_.id || role.tally.has_answered(id) || !connections_.ready(id, now_.monotonic)) continue;
    send(id, *address, VoteRequest{own_head(), epoch_, self(), voter.key, log_.last(), false});
  }
}

void Core::poll_leader() {
  auto& role = std::get<Leader>(role_);
  const bool alone = voters().is_only_voter(self());
  const bool sync_hangs = sync_running_ && !alone && now_.monotonic >= sync_running_->started + config_.fetch_timeout;
  const bool hand_over = shutting_down_ && !alone;
  if (role.resign_requested || hand_over || sync_hangs || now_.monotonic >= role.progress.check_quorum_deadline()) return become_resigned();
  check_voter_change();
  if (!is_leader()) return;
  write_waiting();
  expire_parked_fetches();
  if (now_.monotonic >= role.begin_quorum_epoch_deadline) {
    const Duration period = config_.fetch_timeout / 2;
    for (const NodeId id : role.progress.silent_since({now_.monotonic.nanoseconds - period.count()})) {
      const auto address = address_of(id);
      if (!address || !connections_.ready(id, now_.monotonic)) continue;
      send(id, *address, BeginQuorumEpochRequest{own_head(), epoch_, config_.id, voters().find(id)->key, config_.listeners});
    }
    role.begin_quorum_epoch_deadline = now_.monotonic + period;
  }
}

void Core::poll_resigned() {
  const auto& role = std::get<Resigned>(role_);
  if (now_.monotonic >= role.election_deadline && !shutting_down_) {
    if (planted(Fault::resigned_stays_in_epoch)) return become_unattached(epoch_, std::nullopt, std::nullopt, now_.monotonic + random_election_timeout());
    return become_unattached(epoch_ + 1, std::nullopt, std::nullopt, now_.monotonic);
  }
  for (const NodeId id : role.unacknowledged) {
    const auto address = role.voters.endpoint(id, config_.default_listener);
    if (!address || !connections_.ready(id, now_.monotonic)) continue;
    send(id, *address, EndQuorumEpochRequest{own_head(), epoch_, config_.id, role.preferred_successors, {}});
  }
}

void Core::poll_follower() {
  auto& role = std::get<Follower>(role_);
  // A slow disk of our own says nothing about the leader.
  const bool syncing = sync_running_ && !planted(Fault::fetch_before_sync);
  if (syncing || (role.download && role.download->storing)) return;
  if (stands() && now_.monotonic >= role.fetch_deadline) return become_prospective();
  if (log_.synced_end < log_.end && !planted(Fault::fetch_before_sync)) return start_sync();
  // Within milliseconds there is an election; a question that is still open then would hold up a vote.
  if (lost_leader_ && stands()) return;
  if (connections_.any_in_flight(now_.monotonic)) return;
  if (maybe_change_own_voter_entry()) return;

  const NodeId leader = role.leader.id;
  const auto found = role.leader.endpoints.find(config_.default_listener);
  if (connections_.timed_out(leader, now_.monotonic)) {
    note_silence(leader);
    connections_.back_off(leader, now_.monotonic);
  }
  if (found == role.leader.endpoints.end() || connections_.backing_off(leader, now_.monotonic) || is_silent(found->second)) return fetch_from_bootstrap();
  if (role.download) {
    send(leader, found->second,
         FetchSnapshotRequest{own_head(), epoch_, self(), role.download->id, role.download->position, config_.fetch_snapshot_max_bytes});
    return;
  }
  fetch_from(leader, found->second);
}

void Core::fetch_from(NodeId peer, Endpoint address) {
  send(peer, std::move(address),
       FetchRequest{.head = own_head(),
                    .epoch = epoch_,
                    .replica = config_.id.value >= 0 ? self() : ReplicaKey{},
                    .at = log_.last(),
                    .high_watermark = high_watermark_ ? high_watermark_->value : -1,
                    .max_wait_ms = static_cast<int32_t>(config_.fetch_max_wait / std::chrono::milliseconds(1)),
                    .max_bytes = config_.fetch_max_bytes});
}

MonotonicTime Core::next_deadline() const {
  MonotonicTime next = connections_.next_change(now_.monotonic);
  // A time that has passed without effect is not waited for: something else must happen first.
  const auto consider = [&](MonotonicTime deadline) {
    if (deadline > now_.monotonic) next = std::min(next, deadline);
  };
  const bool stands = this->stands();
  if (const auto* role = std::get_if<Unattached>(&role_); role && stands) consider(role->election_deadline);
  if (const auto* role = std::get_if<Prospective>(&role_)) consider(role->election_deadline);
  if (const auto* role = std::get_if<Candidate>(&role_)) consider(role->election_deadline);
  if (const auto* role = std::get_if<Resigned>(&role_); role && !shutting_down_) consider(role->election_deadline);
  if (const auto* role = std::get_if<Follower>(&role_)) {
    if (stands && !sync_running_) consider(role->fetch_deadline);
    if (!connections_.any_in_flight(now_.monotonic)) consider(role->update_voter_deadline);
  }
  if (const auto* role = std::get_if<Leader>(&role_)) {
    consider(role->progress.check_quorum_deadline());
    if (!voters().is_only_voter(self())) {
      consider(role->begin_quorum_epoch_deadline);
      if (sync_running_) consider(sync_running_->started + config_.fetch_timeout);
    }
    if (!waiting_.empty() && !sync_running_) consider(write_held_until());
    if (voter_change_) consider(voter_change_->deadline);
    for (const auto& [token, parked] : parked_fetches_) consider(parked.deadline);
  }
  return next;
}

}  // namespace castellan::raft

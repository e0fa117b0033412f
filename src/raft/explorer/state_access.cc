// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/explorer/state_access.h"

namespace castellan::raft {
namespace {

constexpr MonotonicTime some_day{int64_t{1} << 60};

void put(Digest& digest, const LogPosition& position) {
  digest.add(static_cast<uint64_t>(position.offset.value));
  digest.add(static_cast<uint64_t>(position.epoch.value));
}

void put(Digest& digest, const std::optional<ReplicaKey>& key) {
  digest.add(static_cast<uint64_t>(key ? key->id.value : -1));
  if (key) digest.add(key->directory.value.low);
}

void put(Digest& digest, const Tally& tally) {
  for (const auto& [id, voter] : tally.voters()) digest.add(static_cast<uint64_t>(id.value) << 1 | uint64_t{tally.has_answered(id)});
  for (const NodeId id : tally.granting()) digest.add(static_cast<uint64_t>(id.value));
}

void put(Digest& digest, const VoterSet& voters) {
  digest.add(voters.size());
  for (const auto& [id, voter] : voters) put(digest, std::optional(voter.key));
}

void put(Digest& digest, const ResponseHead& head) {
  digest.add(head.error_top);
  digest.add(head.error);
  digest.add(static_cast<uint64_t>(head.epoch.value));
  digest.add(static_cast<uint64_t>(head.leader.value) << 1 | uint64_t{head.leader_endpoint.has_value()});
}

}  // namespace

bool StateAccess::settle(Core& core) {
  bool rested = false;
  for (auto peer = core.connections_.peers_.begin(); peer != core.connections_.peers_.end();) {
    if (!peer->second.awaiting) {
      rested = true;
      peer = core.connections_.peers_.erase(peer);
    } else {
      peer->second.until = some_day;
      ++peer;
    }
  }
  core.random_ = Prng(0);
  core.lost_leader_until_ = some_day;
  core.asked_.clear();
  core.silent_until_.clear();
  core.announced_.reset();
  if (auto* role = std::get_if<Unattached>(&core.role_)) role->election_deadline = some_day;
  if (auto* role = std::get_if<Prospective>(&core.role_)) role->election_deadline = some_day;
  if (auto* role = std::get_if<Candidate>(&core.role_)) role->election_deadline = some_day;
  if (auto* role = std::get_if<Resigned>(&core.role_)) role->election_deadline = some_day;
  if (auto* role = std::get_if<Follower>(&core.role_)) {
    role->fetch_deadline = some_day;
    role->update_voter_deadline = some_day;
  }
  if (auto* role = std::get_if<Leader>(&core.role_)) {
    role->begin_quorum_epoch_deadline = some_day;
    role->progress.check_quorum_start_ = core.now_.monotonic;
    role->progress.heard_from_.clear();
  }
  if (core.voter_change_) core.voter_change_->deadline = some_day;
  if (core.sync_running_) core.sync_running_->started = core.now_.monotonic;
  return rested;
}

void StateAccess::expire(Core& core, Now now) {
  core.lost_leader_.reset();
  if (auto* role = std::get_if<Unattached>(&core.role_)) role->election_deadline = now.monotonic;
  if (auto* role = std::get_if<Prospective>(&core.role_)) role->election_deadline = now.monotonic;
  if (auto* role = std::get_if<Candidate>(&core.role_)) role->election_deadline = now.monotonic;
  if (auto* role = std::get_if<Resigned>(&core.role_)) role->election_deadline = now.monotonic;
  if (auto* role = std::get_if<Follower>(&core.role_)) role->fetch_deadline = now.monotonic;
  if (auto* role = std::get_if<Leader>(&core.role_)) role->progress.check_quorum_start_ = {now.monotonic.nanoseconds - role->progress.check_quorum_timeout_.count()};
}

bool StateAccess::awaits(const Core& core, uint64_t request_id) {
  for (const auto& [id, peer] : core.connections_.peers_) {
    if (peer.awaiting && peer.request_id == request_id) return true;
  }
  return false;
}

std::optional<uint64_t> StateAccess::awaited_from(const Core& core, NodeId peer) {
  const auto found = core.connections_.peers_.find(peer);
  if (found == core.connections_.peers_.end() || !found->second.awaiting) return std::nullopt;
  return found->second.request_id;
}

void StateAccess::forget_request(Core& core, NodeId peer) { core.connections_.forget(peer); }

void StateAccess::add_to(Digest& digest, const Core& core, Now now) {
  const auto number = [&](int64_t value) { digest.add(static_cast<uint64_t>(value)); };
  number(core.epoch_.value);
  digest.add(core.role_.index());
  put(digest, core.election_state().voted);
  number(core.leader().value_or(no_node).value);
  number(static_cast<int64_t>(core.leader_endpoints().size()));
  if (const auto* role = std::get_if<Follower>(&core.role_)) number(role->has_fetched * 2 + role->update_voter_done);
  if (const auto* role = std::get_if<Prospective>(&core.role_)) put(digest, role->tally);
  if (const auto* role = std::get_if<Candidate>(&core.role_)) put(digest, role->tally);
  if (const auto* role = std::get_if<Leader>(&core.role_)) {
    number(role->epoch_start.value);
    number(role->resign_requested);
    for (const auto& replica : role->progress.describe_voters(core.log_.end, now)) {
      put(digest, std::optional(replica.key));
      number(replica.log_end);
    }
    for (const auto& replica : role->progress.describe_observers(core.log_.end, now)) {
      put(digest, std::optional(replica.key));
      number(replica.log_end * 2 + (replica.last_caught_up_ms >= 0));
    }
  }
  if (const auto* role = std::get_if<Resigned>(&core.role_)) {
    for (const NodeId id : role->unacknowledged) number(id.value);
    for (const ReplicaKey& key : role->preferred_successors) number(key.id.value);
    put(digest, role->voters);
  }
  number(core.log_.end.value);
  number(core.log_.synced_end.value);
  put(digest, core.voters());
  number(core.voters_.last() ? core.voters_.last()->offset.value : -2);
  number(core.high_watermark_ ? core.high_watermark_->value : -1);
  number(core.published_.value);
  number(core.lost_leader_ ? core.lost_leader_->second.value : -1);
  number(core.election_save_running_ != 0);
  number(core.sync_running_ ? core.sync_running_->end.value : -1);
  for (const Core::Waiting& waiting : core.waiting_) digest.add(as_text(waiting.batch));
  if (const auto& change = core.voter_change_) {
    number(static_cast<int64_t>(change->kind) * 4 + change->answered * 2 + change->offset.has_value());
    number(change->offset.value_or(Offset{-1}).value);
    put(digest, std::optional(change->voter.key));
  }
  number(core.acknowledged_.has_value() * 2 + core.blank_);
  if (core.blank_) {
    for (const auto& [id, end] : core.heard_ends_) number(id.value), number(end.offset.value), number(end.epoch.value);
  }
  for (const auto& [id, peer] : core.connections_.peers_) number(id.value);
  number(static_cast<int64_t>(core.next_bootstrap_server_ % 6));
}

void add_to(Digest& digest, const RequestBody& body) {
  digest.add(body.index());
  const auto number = [&](int64_t value) { digest.add(static_cast<uint64_t>(value)); };
  if (const auto* vote = std::get_if<VoteRequest>(&body)) {
    number(vote->epoch.value);
    put(digest, vote->last);
    number(vote->pre_vote);
  } else if (const auto* begin = std::get_if<BeginQuorumEpochRequest>(&body)) {
    number(begin->epoch.value);
  } else if (const auto* end = std::get_if<EndQuorumEpochRequest>(&body)) {
    number(end->epoch.value);
    for (const ReplicaKey& key : end->preferred_candidates) number(key.id.value);
  } else if (const auto* fetch = std::get_if<FetchRequest>(&body)) {
    number(fetch->epoch.value);
    put(digest, fetch->at);
    number(fetch->high_watermark);
  }
}

void add_to(Digest& digest, const ResponseBody& body) {
  digest.add(body.index());
  if (const auto* vote = std::get_if<VoteResponse>(&body)) {
    put(digest, vote->head);
    digest.add(uint64_t{vote->granted});
  } else if (const auto* begin = std::get_if<BeginQuorumEpochResponse>(&body)) {
    put(digest, begin->head);
  } else if (const auto* end = std::get_if<EndQuorumEpochResponse>(&body)) {
    put(digest, end->head);
  } else if (const auto* fetch = std::get_if<FetchResponse>(&body)) {
    put(digest, fetch->head);
    digest.add(static_cast<uint64_t>(fetch->high_watermark));
    put(digest, fetch->diverging.value_or(LogPosition{Offset{-1}, Epoch{-1}}));
    digest.add(as_text(fetch->records));
  } else if (const auto* none = std::get_if<NoResponse>(&body)) {
    digest.add(none->error);
  }
}

}  // namespace castellan::raft

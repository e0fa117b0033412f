// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "partition/partition_state.h"

#include <algorithm>

#include "base/check.h"

namespace castellan::partition {

namespace {

bool contains(const std::vector<NodeId>& ids, NodeId id) { return std::ranges::find(ids, id) != ids.end(); }

}  // namespace

bool operator==(const AlterPartition& a, const AlterPartition& b) {
  const auto same = [](const ReplicaInfo& x, const ReplicaInfo& y) { return x.id == y.id && x.broker_epoch == y.broker_epoch; };
  return a.leader_epoch == b.leader_epoch && a.partition_epoch == b.partition_epoch && std::ranges::equal(a.isr, b.isr, same);
}

void Effects::add(Effects&& more) {
  became_leader |= more.became_leader;
  became_follower |= more.became_follower;
  high_watermark_moved |= more.high_watermark_moved;
  isr_changed |= more.isr_changed;
  if (more.alter) alter = std::move(more.alter);
}

void PartitionState::open(int64_t log_end, int64_t high_watermark) {
  log_end_ = log_end;
  high_watermark_ = std::min(high_watermark, log_end);
}

Effects PartitionState::apply(MonotonicTime now, const PartitionMetadata& metadata) {
  Effects effects;
  if (role_ != Role::NONE && metadata.partition_epoch < metadata_.partition_epoch) return effects;  // seen already
  const bool is_new_term = role_ == Role::NONE || metadata.leader_epoch > metadata_.leader_epoch;
  effects.isr_changed = metadata.isr != metadata_.isr;
  if (metadata.partition_epoch > metadata_.partition_epoch) pending_.reset();  // whatever was asked, this is the answer
  metadata_ = metadata;

  if (metadata.leader != self_) {
    effects.became_follower = is_new_term || role_ != Role::FOLLOWER;
    role_ = Role::FOLLOWER;
    followers_.clear();
    pending_.reset();
    return effects;
  }
  if (is_new_term || role_ != Role::LEADER) {
    effects.became_leader = true;
    role_ = Role::LEADER;
    leader_epoch_start_ = log_end_;
    followers_.clear();
  }
  std::erase_if(followers_, [&](const auto& entry) {
    return std::ranges::none_of(metadata.replicas, [&](const ReplicaInfo& replica) { return replica.id == entry.first; });
  });
  for (const ReplicaInfo& replica : metadata.replicas) {
    if (replica.id == self_) continue;
    const auto [follower, is_new] = followers_.try_emplace(replica.id);
    // A member of the ISR gets the whole lag time to show itself to its new leader.
    if (is_new && in_isr(replica.id)) follower->second.caught_up = now;
  }
  effects.add(advance_high_watermark(now));
  if (metadata.is_recovering && !pending_) effects.alter = propose(metadata_.isr);
  return effects;
}

Effects PartitionState::on_log_end(MonotonicTime now, int64_t log_end) {
  log_end_ = log_end;
  if (role_ == Role::LEADER) return advance_high_watermark(now);
  Effects effects;
  if (high_watermark_ > log_end) {  // truncated
    high_watermark_ = log_end;
    effects.high_watermark_moved = true;
  }
  return effects;
}

Effects PartitionState::on_follower_fetch(MonotonicTime now, const FollowerFetch& fetch) {
  CHECK(role_ == Role::LEADER, "follower {} fetches from broker {}, which does not lead", fetch.replica, self_);
  Effects effects;
  const auto found = followers_.find(fetch.replica);
  if (found == followers_.end()) return effects;
  Follower& follower = found->second;
  if (fetch.fetch_offset >= log_end_) follower.caught_up = std::max(follower.caught_up, now);
  else if (fetch.fetch_offset >= follower.leader_end_at_last_fetch) follower.caught_up = std::max(follower.caught_up, follower.last_fetch);
  follower.log_end = fetch.fetch_offset;
  follower.log_start = fetch.log_start_offset;
  follower.broker_epoch = fetch.broker_epoch;
  follower.last_fetch = now;
  follower.leader_end_at_last_fetch = log_end_;
  effects.alter = expand(fetch.replica);
  effects.add(advance_high_watermark(now));
  return effects;
}

Effects PartitionState::on_leader_high_watermark(int64_t high_watermark) {
  Effects effects;
  if (role_ != Role::FOLLOWER) return effects;
  const int64_t bounded = std::min(high_watermark, log_end_);
  if (bounded <= high_watermark_) return effects;
  high_watermark_ = bounded;
  effects.high_watermark_moved = true;
  return effects;
}

Effects PartitionState::on_time(MonotonicTime now) {
  Effects effects;
  if (role_ != Role::LEADER) return effects;
  effects.alter = shrink(now);
  // One that has fallen out of the lag time no longer holds the high watermark back while it is on its way in.
  effects.add(advance_high_watermark(now));
  return effects;
}

Effects PartitionState::on_altered(MonotonicTime now, const AlterPartitionResult& result) {
  Effects effects;
  if (!pending_ || role_ != Role::LEADER) return effects;  // the metadata was faster
  switch (result.error) {
    case ErrorCode::NONE:
      if (result.leader_epoch < metadata_.leader_epoch || result.partition_epoch < metadata_.partition_epoch) {
        pending_.reset();
        return effects;
      }
      if (result.leader_epoch > metadata_.leader_epoch) {
        pending_.reset();  // somebody else's term: its metadata is on the way
        return effects;
      }
      pending_.reset();
      effects.isr_changed = metadata_.isr != result.isr;
      metadata_.isr = result.isr;
      metadata_.partition_epoch = result.partition_epoch;
      metadata_.is_recovering = false;
      effects.add(advance_high_watermark(now));
      return effects;
    case ErrorCode::OPERATION_NOT_ATTEMPTED:
    case ErrorCode::INELIGIBLE_REPLICA:
      pending_.reset();  // back to what is committed; a later fetch may try again
      effects.add(advance_high_watermark(now));
      return effects;
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode::UNKNOWN_TOPIC_ID:
    case ErrorCode::FENCED_LEADER_EPOCH:
    case ErrorCode::INVALID_UPDATE_VERSION:
    case ErrorCode::INVALID_REQUEST:
    case ErrorCode::NEW_LEADER_ELECTED:
      return effects;  // the controller knows better; stays pending until its metadata comes
    default:
      effects.alter = request_for(*pending_);
      return effects;
  }
}

int64_t PartitionState::last_stable_offset(std::optional<int64_t> first_unstable) const {
  return first_unstable ? std::min(*first_unstable, high_watermark_) : high_watermark_;
}

std::vector<NodeId> PartitionState::maximal_isr() const {
  std::vector<NodeId> all = metadata_.isr;
  if (pending_)
    for (const NodeId id : *pending_)
      if (!contains(all, id)) all.push_back(id);
  return all;
}

int64_t PartitionState::low_watermark(int64_t own_log_start) const {
  int64_t lowest = own_log_start;
  for (const auto& [id, follower] : followers_) {
    const auto info = std::ranges::find_if(metadata_.replicas, [&](const ReplicaInfo& replica) { return replica.id == id; });
    if (info != metadata_.replicas.end() && info->is_active) lowest = std::min(lowest, follower.log_start);
  }
  return lowest;
}

ErrorCode PartitionState::check_epoch(int32_t leader_epoch) const {
  if (leader_epoch < 0 || leader_epoch == metadata_.leader_epoch) return ErrorCode::NONE;
  return leader_epoch < metadata_.leader_epoch ? ErrorCode::FENCED_LEADER_EPOCH : ErrorCode::UNKNOWN_LEADER_EPOCH;
}

ErrorCode PartitionState::check_replica(NodeId replica, int32_t leader_epoch) const {
  if (followers_.contains(replica)) return ErrorCode::NONE;
  // A race of metadata: the one that asks has heard of a change that has not come here yet.
  return leader_epoch >= 0 ? ErrorCode::UNKNOWN_LEADER_EPOCH : ErrorCode::NOT_LEADER_OR_FOLLOWER;
}

ErrorCode PartitionState::check_append() const {
  return static_cast<int32_t>(metadata_.isr.size()) < min_isr() ? ErrorCode::NOT_ENOUGH_REPLICAS : ErrorCode::NONE;
}

std::optional<ErrorCode> PartitionState::check_replicated(int64_t end) const {
  if (high_watermark_ < end) return std::nullopt;
  return static_cast<int32_t>(maximal_isr().size()) < min_isr() ? ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND : ErrorCode::NONE;
}

int32_t PartitionState::min_isr() const { return std::min(metadata_.min_insync_replicas, static_cast<int32_t>(metadata_.replicas.size())); }

bool PartitionState::in_isr(NodeId replica) const { return contains(metadata_.isr, replica); }

bool PartitionState::is_eligible(NodeId replica) const {
  const auto info = std::ranges::find_if(metadata_.replicas, [&](const ReplicaInfo& candidate) { return candidate.id == replica; });
  if (info == metadata_.replicas.end() || !info->is_active) return false;
  const auto follower = followers_.find(replica);
  const int64_t said = follower == followers_.end() ? -1 : follower->second.broker_epoch;
  // A broker that has started anew since it fetched may have lost what it had.
  return said == -1 || info->broker_epoch == -1 || said == info->broker_epoch;
}

bool PartitionState::is_caught_up(const Follower& follower, MonotonicTime now) const {
  if (follower.log_end == log_end_) return true;
  return follower.caught_up.nanoseconds != INT64_MIN && now - follower.caught_up <= lag_max_;
}

Effects PartitionState::advance_high_watermark(MonotonicTime now) {
  Effects effects;
  // KIP-966: what fewer than the minimum hold is not committed.
  if (static_cast<int32_t>(metadata_.isr.size()) < min_isr()) return effects;
  const std::vector<NodeId> counted = maximal_isr();
  int64_t lowest = log_end_;
  for (const auto& [id, follower] : followers_) {
    if (follower.log_end >= lowest) continue;
    // One that is about to come in is waited for too, or it would find the high watermark beyond its end for ever.
    if (contains(counted, id) || (is_caught_up(follower, now) && is_eligible(id))) lowest = follower.log_end;
  }
  if (lowest <= high_watermark_) return effects;
  high_watermark_ = lowest;
  effects.high_watermark_moved = true;
  return effects;
}

std::optional<AlterPartition> PartitionState::expand(NodeId replica) {
  if (pending_ || in_isr(replica) || !is_eligible(replica)) return std::nullopt;
  const Follower& follower = followers_.at(replica);
  if (follower.log_end < high_watermark_ || follower.log_end < leader_epoch_start_) return std::nullopt;
  std::vector<NodeId> isr = metadata_.isr;
  isr.push_back(replica);
  return propose(std::move(isr));
}

std::optional<AlterPartition> PartitionState::shrink(MonotonicTime now) {
  if (pending_) return std::nullopt;
  std::vector<NodeId> isr;
  for (const NodeId id : metadata_.isr) {
    const auto follower = followers_.find(id);
    if (follower == followers_.end() || is_caught_up(follower->second, now)) isr.push_back(id);
  }
  if (isr.size() == metadata_.isr.size()) return std::nullopt;
  return propose(std::move(isr));
}

std::optional<AlterPartition> PartitionState::propose(std::vector<NodeId> isr) {
  pending_ = std::move(isr);
  return request_for(*pending_);
}

AlterPartition PartitionState::request_for(const std::vector<NodeId>& isr) const {
  AlterPartition request{metadata_.leader_epoch, metadata_.partition_epoch, {}};
  for (const NodeId id : isr) {
    const auto info = std::ranges::find_if(metadata_.replicas, [&](const ReplicaInfo& replica) { return replica.id == id; });
    ReplicaInfo entry = info == metadata_.replicas.end() ? ReplicaInfo{id, -1, true} : *info;
    const auto follower = followers_.find(id);
    if (follower != followers_.end() && follower->second.broker_epoch >= 0) entry.broker_epoch = follower->second.broker_epoch;
    request.isr.push_back(entry);
  }
  return request;
}

}  // namespace castellan::partition

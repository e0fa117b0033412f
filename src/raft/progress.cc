// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/progress.h"

#include <algorithm>

#include "base/planted_fault.h"

namespace castellan::raft {
namespace {

constexpr Duration observer_session = std::chrono::minutes(5);
constexpr Duration caught_up_window = std::chrono::hours(1);

}  // namespace

Progress::Progress(ReplicaKey self, const VoterSet& voters, Now now, Duration check_quorum_timeout)
    : self_(self), check_quorum_start_(now.monotonic), check_quorum_timeout_(check_quorum_timeout) {
  set_voters(voters, now);
}

void Progress::set_voters(const VoterSet& voters, Now now) {
  const bool was_alone = voters_.size() == 1;
  auto known = std::move(observers_);
  for (auto& [id, replica] : voters_) known.emplace(replica.key, std::move(replica));
  voters_.clear();
  observers_.clear();
  own_directory_known_ = !voters.contains(self_) || voters.find(self_.id)->key.has_directory();
  for (const auto& [id, voter] : voters) {
    // The leader's own entry is the leader's even where the set does not know its directory yet (kraft.version 0).
    const ReplicaKey key = voters.contains(self_) && id == self_.id ? self_ : voter.key;
    ReplicaProgress replica{.key = key};
    if (auto found = known.extract(key); !found.empty()) replica = std::move(found.mapped());
    voters_.emplace(id, std::move(replica));
  }
  for (auto& [key, replica] : known) observers_.emplace(key, std::move(replica));
  if (!leader_is_voter()) observers_.try_emplace(self_, ReplicaProgress{.key = self_, .end = own_end_});
  // Who is alone waits for nobody; from the second voter's first moment on it has the whole time to be heard from.
  if (voters_.size() == 1 || was_alone) check_quorum_start_ = now.monotonic;
  std::erase_if(heard_from_, [&](NodeId id) { return !voters_.contains(id); });
}

void Progress::set_own_end(Offset end) { own_end_ = end; }

ReplicaProgress& Progress::find_or_add(ReplicaKey replica) {
  const auto voter = voters_.find(replica.id);
  if (voter != voters_.end()) {
    // A set of kraft.version 0 knows no directories; the first fetch tells.
    if (!voter->second.key.has_directory() && replica.has_directory()) voter->second.key.directory = replica.directory;
    if (voter->second.key == replica || !voter->second.key.has_directory()) return voter->second;
  }
  return observers_.try_emplace(replica, ReplicaProgress{.key = replica}).first->second;
}

bool Progress::on_fetch(ReplicaKey replica, Offset at, Offset leader_end, Now now) {
  ReplicaProgress& progress = find_or_add(replica);
  if (at >= leader_end) {
    progress.last_caught_up = now;
  } else if (progress.last_fetch && at >= progress.leader_end_at_last_fetch) {
    progress.last_caught_up = progress.last_fetch;
  }
  progress.end = at;
  progress.last_fetch = now;
  progress.leader_end_at_last_fetch = leader_end;
  progress.acknowledged = true;
  heard_from(progress.key, now.monotonic);
  const auto voter = voters_.find(replica.id);
  return voter != voters_.end() && &voter->second == &progress;
}

void Progress::heard_from(ReplicaKey replica, MonotonicTime now) {
  const auto voter = voters_.find(replica.id);
  if (voter == voters_.end() || replica.id == self_.id) return;
  if (voter->second.key.has_directory() && voter->second.key != replica) return;
  heard_from_.insert(replica.id);
  const size_t needed = voters_.size() / 2 + (leader_is_voter() ? 0 : 1);
  if (heard_from_.size() >= needed) {
    heard_from_.clear();
    check_quorum_start_ = now;
  }
}

void Progress::acknowledge(NodeId voter) {
  const auto found = voters_.find(voter);  // may have been removed since it was asked
  if (found != voters_.end()) found->second.acknowledged = true;
}

std::optional<Offset> Progress::majority_end() const {
  std::vector<int64_t> ends;
  for (const auto& [id, replica] : voters_) {
    const auto end = replica.key == self_ ? own_end_ : replica.end;
    ends.push_back(end ? end->value : -1);
  }
  if (ends.empty()) return std::nullopt;
  const size_t half = ends.size() / 2;
  if (planted(Fault::removed_leader_counts_itself) && !leader_is_voter() && own_end_) ends.push_back(own_end_->value);
  if (planted(Fault::observer_counted)) {
    for (const auto& [key, replica] : observers_) ends.push_back(replica.end ? replica.end->value : -1);
  }
  std::ranges::sort(ends, std::greater());
  const int64_t end = ends[half];
  if (end < 0) return std::nullopt;
  return Offset{end};
}

MonotonicTime Progress::check_quorum_deadline() const {
  if (voters_.size() <= 1) return MonotonicTime::never();
  return check_quorum_start_ + check_quorum_timeout_;
}

std::vector<NodeId> Progress::silent_since(MonotonicTime since) const {
  std::vector<NodeId> ids;
  for (const auto& [id, replica] : voters_) {
    if (replica.key == self_) continue;
    if (!replica.last_fetch || replica.last_fetch->monotonic <= since) ids.push_back(id);
  }
  return ids;
}

std::vector<ReplicaKey> Progress::successors() const {
  std::vector<const ReplicaProgress*> others;
  for (const auto& [id, replica] : voters_) {
    if (replica.key != self_) others.push_back(&replica);
  }
  std::ranges::stable_sort(others, std::greater(), [](const ReplicaProgress* replica) { return replica->end.value_or(Offset{-1}); });
  std::vector<ReplicaKey> keys;
  for (const ReplicaProgress* replica : others) keys.push_back(replica->key);
  return keys;
}

bool Progress::observer_caught_up(ReplicaKey replica, MonotonicTime now) const {
  const auto found = observers_.find(replica);
  return found != observers_.end() && found->second.last_caught_up && found->second.last_fetch &&
         now - found->second.last_fetch->monotonic < caught_up_window;
}

void Progress::forget_silent_observers(MonotonicTime now) {
  std::erase_if(observers_, [&](const auto& entry) {
    const ReplicaProgress& replica = entry.second;
    if (replica.key == self_) return false;
    return !replica.last_fetch || now - replica.last_fetch->monotonic >= observer_session;
  });
}

ReplicaDescription Progress::describe(const ReplicaProgress& replica, Offset leader_end, Now now) const {
  if (replica.key == self_) {
    const ReplicaKey told = own_directory_known_ ? self_ : ReplicaKey{.id = self_.id};
    return {told, leader_end.value, now.wall.milliseconds, now.wall.milliseconds};
  }
  return {replica.key, replica.end ? replica.end->value : -1, replica.last_fetch ? replica.last_fetch->wall.milliseconds : -1,
          replica.last_caught_up ? replica.last_caught_up->wall.milliseconds : -1};
}

std::vector<ReplicaDescription> Progress::describe_voters(Offset leader_end, Now now) const {
  std::vector<ReplicaDescription> result;
  for (const auto& [id, replica] : voters_) result.push_back(describe(replica, leader_end, now));
  return result;
}

std::vector<ReplicaDescription> Progress::describe_observers(Offset leader_end, Now now) const {
  std::vector<ReplicaDescription> result;
  for (const auto& [key, replica] : observers_) result.push_back(describe(replica, leader_end, now));
  return result;
}

}  // namespace castellan::raft

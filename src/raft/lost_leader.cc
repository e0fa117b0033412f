// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A leader that is known to be gone is replaced at once (design, "Crash failover"). What counts: the connection by which this replica
// fetches from it ended and cannot be made again; its own word that it does not lead any more (it was started again, or has resigned);
// EndQuorumEpoch. All voters see it within microseconds, so they stand by rank; refused pre-votes are asked for again within
// milliseconds, candidacies that cannot win end at once, and who lost the leader grants pre-votes.
//
// A false alarm disturbs nobody: the others refuse the pre-vote, and the leader's own word brings it back. After a fetch timeout without
// success the usual timers hold again, so that a voter without a majority rests; and a leader that only this voter cannot reach, because its
// connections are refused, is taken for lost once in its epoch, until it has answered again.

#include <algorithm>

#include "raft/core.h"

namespace castellan::raft {
namespace {

constexpr auto rank_step = std::chrono::milliseconds(4);
constexpr auto jitter = std::chrono::microseconds(2000);
// Between two voters whose fetches of a silent leader run out together.
constexpr auto silence_step = std::chrono::milliseconds(30);

}  // namespace

int64_t Core::rank_without(NodeId leader) const {
  int64_t rank = 0;
  for (const auto& [id, voter] : voters()) rank += id < config_.id && id != leader;
  return rank;
}

Duration Core::ranked_wait() {
  return rank_step * rank_without(lost_leader_ ? lost_leader_->second : no_node) + std::chrono::microseconds(random_.below(jitter.count()));
}

// Followers are answered together, so without a difference their fetches would run out together, and the votes would split.
Duration Core::fetch_timeout_behind(NodeId leader) const {
  const Duration difference = std::min<Duration>(silence_step * rank_without(leader), config_.fetch_timeout / 10);
  return config_.fetch_timeout + difference;
}

void Core::note_lost_leader(NodeId leader) {
  lost_leader_ = {epoch_, leader};
  lost_leader_until_ = now_.monotonic + config_.fetch_timeout;
}

void Core::on_peer_lost(NodeId node) {
  auto* follower = std::get_if<Follower>(&role_);
  if (!follower || lost_leader_) return;
  const NodeId leader = follower->leader.id;
  if (not_replaced_ == epoch_ && !follower->has_fetched) return;
  if (node != leader) {
    // It may have been asked by its address, as a bootstrap server.
    const auto asked = asked_.find(node);
    const auto address = follower->leader.endpoints.find(config_.default_listener);
    if (node.value >= 0 || asked == asked_.end() || address == follower->leader.endpoints.end() || asked->second != address->second) return;
  }
  note_lost_leader(leader);
  follower->has_fetched = false;  // grants pre-votes from now on
  follower->fetch_deadline = std::min(follower->fetch_deadline, now_.monotonic + ranked_wait());
}

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// DescribeQuorum (KIP-642, KIP-853).

#include "raft/core.h"

namespace castellan::raft {

void Core::on_describe_quorum(uint64_t token, const DescribeQuorumRequest& request) {
  DescribeQuorumResponse response;
  auto* leader = std::get_if<Leader>(&role_);
  if (request.target != Target::metadata_partition) {
    response.head.error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    response.unknown = request.asked;
  } else if (!leader) {
    response.head.error = ErrorCode::NOT_LEADER_OR_FOLLOWER;
  } else {
    response.head = {.epoch = epoch_, .leader = config_.id};
    if (high_watermark_) response.high_watermark = high_watermark_->value;
    leader->progress.forget_silent_observers(now_.monotonic);
    response.voters = leader->progress.describe_voters(log_.end, now_);
    response.observers = leader->progress.describe_observers(log_.end, now_);
    response.nodes = voters();
    response.note = voter_change_under_way();
  }
  reply(token, std::move(response));
}

}  // namespace castellan::raft

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/invariants.h"

#include "base/check.h"

namespace castellan::raft {

void Invariants::check(const Core& core) {
  const LogSummary& log = core.log_;
  CHECK(core.epoch_ >= epoch_, "epoch went from {} to {}", epoch_, core.epoch_);
  CHECK(core.published_ >= committed_, "committed end went from {} to {}", committed_, core.published_);
  CHECK(log.start <= log.synced_end && log.synced_end <= log.end, "log [{}, {}) synced to {}", log.start, log.end, log.synced_end);
  CHECK(log.last_epoch() <= core.epoch_, "the log has epoch {}, the replica {}", log.last_epoch(), core.epoch_);
  CHECK(!core.high_watermark_ || *core.high_watermark_ <= log.end, "high watermark {} beyond the log's end {}", *core.high_watermark_, log.end);

  // One leader in an epoch, one vote in an epoch.
  if (const auto leader = core.leader()) {
    CHECK(!leader_ || leader_->first != core.epoch_ || leader_->second == *leader, "epoch {}: leaders {} and {}", core.epoch_, leader_->second, *leader);
    leader_ = {core.epoch_, *leader};
  }
  if (const auto voted = core.election_state().voted) {
    CHECK(!voted_ || voted_->first != core.epoch_ || voted_->second.id == voted->id, "epoch {}: votes for {} and {}", core.epoch_, voted_->second, *voted);
    voted_ = {core.epoch_, *voted};
  }

  if (const auto* role = std::get_if<Leader>(&core.role_)) {
    // The leader announces nothing that its own disk does not have, unless it no longer counts.
    const bool counts = core.voters().contains(core.self());
    CHECK(!counts || core.voters().size() > 1 || !core.high_watermark_ || *core.high_watermark_ <= log.synced_end,
          "high watermark {} beyond what the only voter has synced, {}", *core.high_watermark_, log.synced_end);
    CHECK(!core.high_watermark_ || *core.high_watermark_ > role->epoch_start, "high watermark {} before epoch {} begins at {}",
          *core.high_watermark_, core.epoch_, role->epoch_start);
    CHECK(core.waiting_.empty() || core.waiting_.front().base == log.end, "what waits begins at {}, the log ends at {}", core.waiting_.front().base, log.end);
    CHECK(core.waiting_.empty() || core.sync_running_ || core.now_.monotonic < core.write_held_until(), "proposals wait for nothing");
  } else {
    CHECK(core.waiting_.empty() && core.parked_fetches_.empty() && !core.voter_change_, "{} has work of a leader", name_of(core.role_));
  }
  const bool nominee = std::holds_alternative<Candidate>(core.role_) || std::holds_alternative<Prospective>(core.role_);
  CHECK(!nominee || core.next_deadline() != MonotonicTime::never() || !core.is_voter(), "an election without an end");
  CHECK(log.end == log.synced_end || core.sync_running_, "nobody syncs [{}, {})", log.synced_end, log.end);

  epoch_ = core.epoch_;
  committed_ = core.published_;
}

}  // namespace castellan::raft

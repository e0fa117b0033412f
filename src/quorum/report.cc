// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/report.h"

#include "quorum/raft_loop.h"

namespace castellan::quorum {

namespace {

std::string lower_case(std::string_view text) {
  std::string to(text);
  for (char& c : to) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return to;
}

}  // namespace

void MetadataNode::report(std::function<void(QuorumReport)> done) { raft_->post_report(std::move(done)); }

void RaftLoop::post_report(std::function<void(QuorumReport)> done) {
  surroundings_.raft.post([this, done = std::move(done)] {
    QuorumReport report;
    if (!core_) return done(std::move(report));
    report.state = core_->is_voter() || core_->is_leader() ? lower_case(raft::name_of(core_->role())) : "observer";
    const auto election = core_->election_state();
    report.leader = core_->leader().value_or(no_node);
    if (election.voted) report.voted_for = election.voted->id;
    report.epoch = core_->epoch();
    report.high_watermark = core_->high_watermark().value_or(Offset{-1});
    report.log_start = core_->log().start;
    report.log_end = core_->log().end;
    report.log_end_epoch = core_->log().last_epoch();
    report.voters = core_->voters().size();
    if (const auto* leader = std::get_if<raft::Leader>(&core_->role())) report.observers = leader->progress.observer_count();
    report.waiting_bytes = core_->waiting_bytes();
    done(std::move(report));
  });
}

}  // namespace castellan::quorum

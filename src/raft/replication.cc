// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What enters the log, when it is durable and when committed.

#include <algorithm>

#include "base/check.h"
#include "base/planted_fault.h"
#include "raft/core.h"

namespace castellan::raft {
namespace {

bool any_control(const auto& waiting) {
  return std::ranges::any_of(waiting, [](const auto& each) { return each.control.has_value(); });
}

}  // namespace

void Core::on_proposal(Proposal& proposal) {
  if (!is_leader() || proposal.epoch != epoch_) {
    actions_.push_back(ProposalRejected{.epoch = proposal.epoch, .base = proposal.base, .not_leader = true});
    return;
  }
  if (proposal.base != next_offset()) {
    actions_.push_back(ProposalRejected{.epoch = proposal.epoch, .base = proposal.base, .expected = next_offset()});
    return;
  }
  CHECK(proposal.end > proposal.base && !proposal.batch.empty(), "an empty proposal at {}", proposal.base);
  waiting_bytes_ += proposal.batch.size();
  waiting_.push_back({proposal.base, proposal.end, std::move(proposal.batch), std::nullopt});
  write_waiting();
}

void Core::propose_control(ControlRecords records) {
  const Offset base = next_offset();
  Bytes batch = encode_control_batch(base, epoch_, now_.wall, records);
  waiting_bytes_ += batch.size();
  const Offset end = base + static_cast<int64_t>(records.count());
  OwnRecords news{.base = base, .end = end, .kraft_version = records.kraft_version.value_or(kraft_version()), .voters = {}};
  for (const auto& [id, voter] : records.voters ? *records.voters : voters()) news.voters.push_back(id);
  actions_.push_back(std::move(news));
  waiting_.push_back({base, end, std::move(batch), std::move(records)});
  write_waiting();
}

// One write per sync. So a power cut can tear the last write only, and whatever is bad before it is damage.
void Core::write_waiting() {
  if (sync_running_ || waiting_.empty() || now_.monotonic < write_held_until()) return;
  last_write_ = now_.monotonic;
  Append append{.base = log_.end, .epoch = epoch_};
  append.batches.reserve(waiting_bytes_);
  bool voters_changed = false;
  for (Waiting& waiting : waiting_) {
    append.batches.insert(append.batches.end(), waiting.batch.begin(), waiting.batch.end());
    log_.append(epoch_, waiting.base, waiting.end);
    if (waiting.control) {
      apply_control(waiting.base, *waiting.control);
      voters_changed = voters_changed || waiting.control->voters.has_value();
    }
  }
  append.end = log_.end;
  waiting_.clear();
  waiting_bytes_ = 0;
  actions_.push_back(std::move(append));
  start_sync();
  if (voters_changed && !planted(Fault::old_voters_commit)) std::get<Leader>(role_).progress.set_voters(voters(), now_);
  revisit_parked_fetches();
}

// Control records never wait: what is not committed yet may need them, as when a voter that is gone is removed.
MonotonicTime Core::write_held_until() const {
  const bool committed = high_watermark_ && *high_watermark_ >= log_.end;
  if (config_.write_patience == Duration::zero() || committed) return MonotonicTime{0};
  if (any_control(waiting_)) return MonotonicTime{0};
  return last_write_ + config_.write_patience;
}

void Core::start_sync() {
  if (sync_running_ || log_.synced_end == log_.end) return;
  sync_running_ = RunningSync{++last_id_, log_.end, now_.monotonic};
  actions_.push_back(Sync{sync_running_->id});
}

void Core::on_synced(int64_t id) {
  if (id == election_save_running_) {
    election_save_running_ = 0;
    if (sync_running_ && planted(Fault::synced_of_any_id)) log_.synced_end = std::max(log_.synced_end, sync_running_->end);
  } else if (sync_running_ && sync_running_->id == id) {
    log_.synced_end = std::max(log_.synced_end, sync_running_->end);
    sync_running_.reset();
    if (auto* follower = std::get_if<Follower>(&role_)) follower->fetch_deadline = now_.monotonic + config_.fetch_timeout;
    // The high watermark first, so that a follower's answer can say it together with the next write; but voters that come with
    // that write count at once, and decide on the high watermark.
    if (is_leader() && any_control(waiting_)) write_waiting();
    advance_own_high_watermark();
    if (is_leader()) write_waiting();
    start_sync();
    return;
  }
  advance_own_high_watermark();
}

void Core::advance_own_high_watermark() {
  auto* leader = std::get_if<Leader>(&role_);
  if (!leader || election_save_running_) return;
  leader->progress.set_own_end(planted(Fault::leader_counts_unsynced) ? log_.end : log_.synced_end);
  const auto end = leader->progress.majority_end();
  // Records of earlier epochs are committed only together with one of this epoch (Raft, section 5.4.2).
  if (!end || (*end <= leader->epoch_start && !planted(Fault::commit_of_earlier_epoch))) return;
  if (high_watermark_ && *end <= *high_watermark_ && !planted(Fault::high_watermark_goes_back)) return;
  publish_high_watermark(*end);
  write_waiting();
  revisit_parked_fetches();
  check_voter_change();
}

void Core::publish_high_watermark(Offset end) {
  // A leader that is behind what another one told before knows less, it has not lost it.
  const bool back = planted(Fault::high_watermark_goes_back) && end != published_;
  if (high_watermark_ && end <= *high_watermark_ && !back) return;
  high_watermark_ = end;
  if (end <= published_ && !back) return;
  published_ = end;
  actions_.push_back(Committed{end});
}

void Core::apply_control(Offset base, const ControlRecords& records) {
  Offset offset = base + (records.leader_change ? 1 : 0);
  if (records.kraft_version) {
    kraft_version_.add(records.kraft_version_offset.value_or(offset), *records.kraft_version);
    offset = offset + 1;
  }
  if (records.voters) voters_.add(records.voters_offset.value_or(offset), *records.voters);
}

void Core::truncate_to(Offset end) {
  if (end >= log_.end) {
    log_.epochs.truncate_to(end);
    return;
  }
  CHECK(!high_watermark_ || end >= *high_watermark_ || planted(Fault::truncates_too_far), "truncation to {} below the high watermark {}", end, *high_watermark_);
  log_.truncate_to(end);
  if (sync_running_) sync_running_->end = std::min(sync_running_->end, end);
  if (!planted(Fault::voter_change_survives_truncation)) voters_.truncate_to(end);
  kraft_version_.truncate_to(end);
  actions_.push_back(Truncate{end});
}

}  // namespace castellan::raft

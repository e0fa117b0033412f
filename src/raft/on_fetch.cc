// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Fetch: how followers copy the log, tell the leader how far they are, and learn of the high watermark.

#include <algorithm>

#include "base/planted_fault.h"
#include "raft/core.h"

namespace castellan::raft {

void Core::on_fetch(uint64_t token, const std::string& listener, const FetchRequest& request) {
  FetchResponse response;
  if (const ErrorCode error = head_error(request.head); error != ErrorCode::NONE) {
    response.head.error_top = error;
    return reply(token, response);
  }
  const bool senseless = request.max_wait_ms < 0 || request.at.offset.value < 0 || request.at.epoch.value < 0 || request.at.epoch > request.epoch;
  if (senseless) {
    response.head = response_head(listener, ErrorCode::INVALID_REQUEST);
    return reply(token, response);
  }
  if (answer_fetch(token, listener, request, request.max_wait_ms > 0)) return;
  const auto deadline = now_.monotonic + std::chrono::milliseconds(request.max_wait_ms);
  FetchResponse at_arrival{.head = response_head(listener), .log_start = log_.start};
  if (high_watermark_) at_arrival.high_watermark = high_watermark_->value;
  parked_fetches_.insert_or_assign(token, ParkedFetch{listener, request, deadline, std::move(at_arrival)});
}

bool Core::answer_fetch(uint64_t token, const std::string& listener, const FetchRequest& request, bool may_park) {
  FetchResponse response{.head = response_head(listener, leader_request_error(request.epoch)), .log_start = log_.start};
  // A leader does not fetch from itself.
  if (response.head.error == ErrorCode::NONE && request.replica.id == config_.id && request.replica.id.value >= 0 &&
      (request.replica == self() || !request.replica.has_directory())) {
    response.head.error = ErrorCode::UNKNOWN_SERVER_ERROR;
  }
  if (response.head.error != ErrorCode::NONE) {
    reply(token, std::move(response));
    return true;
  }
  auto verdict = log_.judge(request.at);
  const bool diverges = std::holds_alternative<LogSummary::Diverging>(verdict);
  if (planted(Fault::divergence_not_checked) && diverges && request.at.offset <= log_.end) verdict = LogSummary::Valid{};
  if (const auto* diverging = std::get_if<LogSummary::Diverging>(&verdict)) response.diverging = diverging->end;
  if (const auto* behind = std::get_if<LogSummary::NeedsSnapshot>(&verdict)) response.snapshot = behind->id;
  const bool valid = std::holds_alternative<LogSummary::Valid>(verdict);
  const bool counts = valid || (planted(Fault::diverging_fetch_counted) && diverges && request.at.offset <= log_.end);
  if (counts && request.replica.id.value >= 0) {
    auto& leader = std::get<Leader>(role_);
    if (leader.progress.on_fetch(request.replica, request.at.offset, log_.end, now_)) advance_own_high_watermark();
  }
  if (high_watermark_) response.high_watermark = high_watermark_->value;

  const bool has_records = valid && request.at.offset < log_.end;
  const bool news = !valid || has_records || request.high_watermark < response.high_watermark;
  if (!news && may_park) return false;
  if (has_records) {
    actions_.push_back(ReplyWithRecords{token, std::move(response), request.at.offset, request.max_bytes, election_saved_after()});
  } else {
    reply(token, std::move(response));
  }
  return true;
}

void Core::revisit_parked_fetches() {
  // Answering may move the high watermark, which revisits in turn: take one at a time.
  std::vector<uint64_t> tokens;
  for (const auto& [token, parked] : parked_fetches_) tokens.push_back(token);
  for (const uint64_t token : tokens) {
    auto parked = parked_fetches_.extract(token);
    if (parked.empty()) continue;
    if (!answer_fetch(token, parked.mapped().listener, parked.mapped().request, true)) parked_fetches_.insert(std::move(parked));
  }
}

void Core::fail_parked_fetches() {
  for (const auto& [token, parked] : std::exchange(parked_fetches_, {})) {
    reply(token, FetchResponse{.head = response_head(parked.listener, ErrorCode::NOT_LEADER_OR_FOLLOWER)});
  }
}

void Core::expire_parked_fetches() {
  for (auto at = parked_fetches_.begin(); at != parked_fetches_.end();) {
    if (now_.monotonic < at->second.deadline) {
      ++at;
      continue;
    }
    reply(at->first, std::move(at->second.response_at_arrival));
    at = parked_fetches_.erase(at);
  }
}

void Core::on_fetch_response(NodeId from, FetchResponse& response) {
  auto* follower = std::get_if<Follower>(&role_);
  if (response.head.error != ErrorCode::NONE || !follower) {
    // Unattached: a server that knows no leader either. Ask another one after a while.
    connections_.back_off(from, now_.monotonic + retry_backoff());
    return;
  }
  const auto fetched = [&] {
    auto& role = std::get<Follower>(role_);
    role.fetch_deadline = now_.monotonic + fetch_timeout_behind(from.value >= 0 ? from : role.leader.id);
    last_news_ = now_.monotonic;
    role.has_fetched = true;
  };
  if (response.diverging) {
    const LogPosition there = *response.diverging;
    if (there.epoch.value < 0 || there.offset.value < 0) {
      connections_.back_off(from, now_.monotonic + retry_backoff());
      return;
    }
    if (high_watermark_ && there.offset < *high_watermark_) {
      return stop(fmt::format("leader {} of epoch {} says that this log diverges at {}, below what is committed ({}): the logs contradict each other. If the "
                              "quorum was recovered from a survivor that had less, this node's metadata log is of the quorum before: of a broker remove its folder, a "
                              "controller format anew",
                              *leader(), epoch_, there, *high_watermark_));
    }
    Offset target = std::min(there.offset, log_.end);
    if (there.epoch.value > 0) {
      const LogPosition here = log_.end_of(there.epoch);
      target = here.epoch == there.epoch ? std::min(here.offset, there.offset) : here.offset;
    }
    if (planted(Fault::truncates_too_far) && target.value > 0) {
      target = log_.end_of(log_.epochs.epoch_at(target - 1).value_or(Epoch{0}) - 1).offset;
    }
    fetched();
    return truncate_to(std::max(target, log_.start));
  }
  if (response.snapshot) {
    const SnapshotId id = *response.snapshot;
    if (id.offset.value < 0 || id.epoch.value < 0) {
      connections_.back_off(from, now_.monotonic + retry_backoff());
      return;
    }
    fetched();
    // Nobody gives its bootstrap snapshot away (P40).
    if (id != bootstrap_snapshot && !log_.snapshots.contains(id)) follower->download = Follower::Download{.id = id};
    return;
  }

  // Batches of this epoch and earlier ones only: a slow answer can hold batches that its sender, no longer leader, took from
  // another one (P1).
  Append append{.base = log_.end, .end = log_.end, .epoch = log_.last_epoch()};
  std::vector<std::pair<Offset, ControlRecords>> control;
  size_t usable = 0;
  const auto scanned = scan_batches(response.records, [&](const BatchSummary& batch) {
    if (batch.epoch > epoch_ && !planted(Fault::later_epoch_appended)) return false;
    if (batch.epoch < append.epoch || batch.base != append.end) return false;
    if (planted(Fault::large_batch_refused) && batch.size > static_cast<size_t>(config_.fetch_max_bytes) / 2) return false;
    append.end = batch.end;
    append.epoch = batch.epoch;
    usable = batch.position + batch.size;
    log_.append(batch.epoch, batch.base, batch.end);
    if (batch.control) control.emplace_back(batch.base, *batch.control);
    return true;
  });
  if (append.end > append.base) {
    response.records.resize(usable);
    append.batches = std::move(response.records);
    actions_.push_back(std::move(append));
    for (const auto& [offset, records] : control) apply_control(offset, records);
    if (is_voter() || config_.can_become_voter) {
      start_sync();
    } else {
      log_.synced_end = log_.end;
    }
  } else if (!scanned) {
    // Nothing of it can be used. Not counted as a fetch: a leader that only sends damage is as good as none (P57).
    connections_.back_off(from, now_.monotonic + retry_backoff());
    return;
  }
  fetched();
  // Caught up once the log reaches what the leader has committed. A leader that has committed nothing, and whose epoch is the
  // first of the log, has only begun the cluster.
  const bool begins = response.high_watermark < 0 && !log_.epochs.empty() && log_.start.value == 0 && log_.epochs.entries().front().epoch == epoch_;
  if (begins || (response.high_watermark >= 0 && log_.end.value >= response.high_watermark)) blank_ = false;
  const Offset told{response.high_watermark};
  if (told.value >= 0) publish_high_watermark(planted(Fault::high_watermark_beyond_log) ? told : std::min(log_.end, told));
}

}  // namespace castellan::raft

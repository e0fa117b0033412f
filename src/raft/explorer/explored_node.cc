// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/explorer/explored_node.h"

#include <algorithm>

#include "raft/explorer/state_access.h"
#include "raft/text.h"

namespace castellan::raft {
namespace {

constexpr uint64_t pre_vote_bit = uint64_t{1} << 62;

}  // namespace

std::optional<Digest> chain_at(const ExploredLog& log, Offset end) {
  if (end.value == 0) return Digest{};
  const auto found = std::ranges::lower_bound(log, end, {}, [](const auto& batch) { return batch->end; });
  if (found == log.end() || (*found)->end != end) return std::nullopt;
  return (*found)->chain;
}

uint64_t ExploredNode::token_of(const Message& request) {
  const auto* vote = std::get_if<VoteRequest>(&request.request);
  return static_cast<uint64_t>(request.from.value) << 48 | static_cast<uint64_t>(request.asker_life) << 40 | request.request_id |
         (vote && vote->pre_vote ? pre_vote_bit : 0);
}

ExploredNode::ExploredNode(Config config, VoterSet bootstrap_voters, NodeEvents& events)
    : config_(std::move(config)), bootstrap_voters_(std::move(bootstrap_voters)) {
  start(events);
}

void ExploredNode::start(NodeEvents& events) {
  Recovered recovered;
  if (election_file_) recovered.election = election_on_disk_;
  recovered.kraft_version.add(Offset{-1}, 1);
  recovered.voters.add(Offset{-1}, bootstrap_voters_);
  recovered.log.snapshots.insert(bootstrap_snapshot);
  for (const auto& batch : log_) {
    recovered.log.append(batch->epoch, batch->base, batch->end);
    recovered.log.synced_end = batch->end;
    if (!batch->control) continue;
    if (batch->control->kraft_version) recovered.kraft_version.add(*batch->control->kraft_version_offset, *batch->control->kraft_version);
    if (batch->control->voters) recovered.voters.add(*batch->control->voters_offset, *batch->control->voters);
  }
  invariants_ = {};
  core_.emplace(config_, std::move(recovered), now());
  settle(events);
}

void ExploredNode::step(Input input, NodeEvents& events) {
  core_->step(now(), std::move(input));
  settle(events);
}

void ExploredNode::expire(NodeEvents& events) {
  StateAccess::expire(*core_, now());
  step(Tick{}, events);
}

void ExploredNode::settle(NodeEvents& events) {
  perform_all(events);
  if (StateAccess::settle(*core_)) {
    // The rest is over: whatever waited for it goes on.
    core_->step(now(), Tick{});
    perform_all(events);
    StateAccess::settle(*core_);
  }
  invariants_.check(*core_);
  update_digest();
}

void ExploredNode::perform_all(NodeEvents& events) {
  for (auto actions = core_->take_actions(); !actions.empty(); actions = core_->take_actions()) {
    for (Action& action : actions) perform(action, events);
  }
}

bool ExploredNode::must_wait(int64_t after) const {
  return after != 0 && std::ranges::any_of(work_, [after](const DiskWork& work) { return work.id == after; });
}

void ExploredNode::perform(Action& action, NodeEvents& events) {
  if (auto* in = std::get_if<SaveElection>(&action)) {
    work_.push_back({in->id, in->state, 0});
  } else if (auto* in = std::get_if<Append>(&action)) {
    append(*in);
  } else if (auto* in = std::get_if<Sync>(&action)) {
    work_.push_back({in->id, std::nullopt, log_.size()});
  } else if (auto* in = std::get_if<Truncate>(&action)) {
    while (!log_.empty() && log_.back()->end > in->end) log_.pop_back();
    on_disk_ = std::min(on_disk_, log_.size());
    for (DiskWork& work : work_) work.batches = std::min(work.batches, log_.size());
  } else if (auto* in = std::get_if<Send>(&action)) {
    if (must_wait(in->after)) waiting_.emplace_back(in->after, std::move(action));
    else send(*in, events);
  } else if (auto* in = std::get_if<Reply>(&action)) {
    if (must_wait(in->after)) waiting_.emplace_back(in->after, std::move(action));
    else reply(in->token, std::move(in->body), events);
  } else if (auto* in = std::get_if<ReplyWithRecords>(&action)) {
    if (must_wait(in->after)) return waiting_.emplace_back(in->after, std::move(action)), void();
    for (const auto& batch : log_) {
      if (batch->base >= in->start) in->response.records.insert(in->response.records.end(), batch->bytes.begin(), batch->bytes.end());
    }
    reply(in->token, std::move(in->response), events);
  } else if (auto* in = std::get_if<Committed>(&action)) {
    events.committed(id(), in->end);
  } else if (auto* in = std::get_if<Stop>(&action)) {
    throw Violation{fmt::format("node {} stops: {}", id(), in->reason)};
  }
  // What is left is for an upper layer that is not here.
}

void ExploredNode::append(const Append& action) {
  const auto scanned = scan_batches(action.batches, [&](const BatchSummary& summary) {
    auto batch = std::make_shared<ExploredBatch>();
    batch->base = summary.base;
    batch->end = summary.end;
    batch->epoch = summary.epoch;
    const auto* begin = action.batches.data() + summary.position;
    batch->bytes.assign(begin, begin + summary.size);
    batch->control = summary.control;
    if (!log_.empty()) batch->chain = log_.back()->chain;
    batch->chain.add(as_text(batch->bytes));
    log_.push_back(std::move(batch));
    return true;
  });
  if (!scanned) throw Violation{fmt::format("node {} appends what is no batch: {}", id(), scanned.error().message)};
}

void ExploredNode::send(Send& action, NodeEvents& events) {
  const bool fetches = std::holds_alternative<FetchRequest>(action.body);
  if (fetches && !asks_around && !std::holds_alternative<Follower>(core_->role())) return StateAccess::forget_request(*core_, action.to);
  auto message = std::make_shared<Message>();
  message->from = id();
  message->to = action.to;
  message->asker_life = life_;
  message->request_id = action.request_id;
  if (std::holds_alternative<ApiVersionsRequest>(action.body)) {
    // Another part of the server answers this one, always the same.
    message->is_answer = true;
    std::swap(message->from, message->to);
    message->response = ApiVersionsResponse{.error = ErrorCode::NONE, .kraft_version = kraft_versions};
    add_to(message->digest, message->response);
  } else {
    if (const auto* vote = std::get_if<VoteRequest>(&action.body); vote && !vote->pre_vote) events.voted(id(), vote->epoch, id());
    message->request = std::move(action.body);
    add_to(message->digest, message->request);
  }
  message->digest.add(static_cast<uint64_t>(message->from.value) << 32 | static_cast<uint64_t>(message->to.value));
  events.sent(std::move(message));
}

void ExploredNode::reply(uint64_t token, ResponseBody body, NodeEvents& events) {
  if (token == client_token) return;
  const bool pre_vote = token & pre_vote_bit;
  token &= ~pre_vote_bit;
  auto message = std::make_shared<Message>();
  message->is_answer = true;
  message->from = id();
  message->to = NodeId{static_cast<int32_t>(token >> 48)};
  message->asker_life = static_cast<int>(token >> 40 & 0xff);
  message->request_id = token & ((uint64_t{1} << 40) - 1);
  if (const auto* vote = std::get_if<VoteResponse>(&body); vote && vote->granted && !pre_vote) events.voted(id(), vote->head.epoch, message->to);
  message->response = std::move(body);
  add_to(message->digest, message->response);
  message->digest.add(static_cast<uint64_t>(message->from.value) << 32 | static_cast<uint64_t>(message->to.value));
  events.sent(std::move(message));
}

void ExploredNode::finish_disk_work(NodeEvents& events) {
  const DiskWork work = std::move(work_.front());
  work_.pop_front();
  if (work.election) {
    election_on_disk_ = *work.election;
    election_file_ = true;
  } else {
    on_disk_ = std::max(on_disk_, work.batches);
  }
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    if (waiting->first != work.id) {
      ++waiting;
      continue;
    }
    Action action = std::move(waiting->second);
    waiting = waiting_.erase(waiting);
    perform(action, events);
  }
  step(Synced{work.id}, events);
}

void ExploredNode::crash(bool keeps_unsynced, NodeEvents& events) {
  if (!keeps_unsynced) log_.resize(on_disk_);
  on_disk_ = log_.size();
  work_.clear();
  waiting_.clear();
  ++life_;
  start(events);
}

void ExploredNode::update_digest() {
  digest_ = {};
  StateAccess::add_to(digest_, *core_, now());
  if (!log_.empty()) digest_.add(log_.back()->chain);
  digest_.add(on_disk_);
  digest_.add(static_cast<uint64_t>(election_on_disk_.epoch.value) << 1 | uint64_t{election_file_});
  digest_.add(static_cast<uint64_t>(election_on_disk_.leader.value));
  digest_.add(static_cast<uint64_t>(election_on_disk_.voted ? election_on_disk_.voted->id.value : -1));
  for (const DiskWork& work : work_) {
    digest_.add(work.batches);
    if (!work.election) continue;
    digest_.add(static_cast<uint64_t>(work.election->epoch.value));
    digest_.add(static_cast<uint64_t>(work.election->leader.value) << 32 | static_cast<uint32_t>(work.election->voted ? work.election->voted->id.value : -1));
  }
  for (const auto& [after, action] : waiting_) {
    const auto work = std::ranges::find(work_, after, &DiskWork::id);
    digest_.add(static_cast<uint64_t>(work - work_.begin()));
    if (const auto* send = std::get_if<Send>(&action)) {
      digest_.add(static_cast<uint64_t>(send->to.value));
      add_to(digest_, send->body);
    } else if (const auto* answer = std::get_if<Reply>(&action)) {
      digest_.add(answer->token & ~((uint64_t{1} << 40) - 1));
      add_to(digest_, answer->body);
    } else if (const auto* records = std::get_if<ReplyWithRecords>(&action)) {
      digest_.add(records->token & ~((uint64_t{1} << 40) - 1));
      digest_.add(static_cast<uint64_t>(records->start.value));
    }
  }
}

}  // namespace castellan::raft

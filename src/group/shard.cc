// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/shard.h"

#include <algorithm>

#include "base/check.h"

namespace castellan::group {

void Shard::step(Now now, Input input) {
  now_ = now;
  std::visit([this](auto& alternative) { on(alternative); }, input);
  run_timers();
  expire_outcomes();
  hand_out();
}

void Shard::on(Request& request) {
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, wire::JoinGroupRequest>) on_join(request, body);
        if constexpr (std::is_same_v<Body, wire::SyncGroupRequest>) on_sync(request, body);
        if constexpr (std::is_same_v<Body, wire::HeartbeatRequest>) on_heartbeat(request, body);
        if constexpr (std::is_same_v<Body, wire::LeaveGroupRequest>) on_leave(request, body);
        if constexpr (std::is_same_v<Body, wire::OffsetCommitRequest>) on_offset_commit(request, body);
        if constexpr (std::is_same_v<Body, OffsetFetch>) on_offset_fetch(request, body);
        if constexpr (std::is_same_v<Body, wire::OffsetDeleteRequest>) on_offset_delete(request, body);
        if constexpr (std::is_same_v<Body, DescribeGroups>) on_describe(request, body);
        if constexpr (std::is_same_v<Body, DeleteGroups>) on_delete(request, body);
        if constexpr (std::is_same_v<Body, wire::ListGroupsRequest>) on_list(request, body);
      },
      request.body);
}

MonotonicTime Shard::next_deadline() const {
  MonotonicTime earliest = timers_.next_deadline();
  for (const Batch& batch : batches_)
    for (const PendingOutcome& pending : batch.outcomes)
      if (!pending.done) return std::min(earliest, pending.deadline);  // outcomes come in the order of their deadlines
  return earliest;
}

void Shard::write(Operation operation, std::optional<Outcome> outcome) {
  if (operation.records.empty()) {
    // Nothing to store, so nothing that an append could take back.
    if (!outcome) return;
    if (batches_.empty()) return finish(*outcome, ErrorCode::NONE);
    batches_.back().outcomes.push_back({std::move(*outcome), now_.monotonic + configuration_.commit_timeout});
    return;
  }
  size_t size = 0;
  for (const Record& record : operation.records) size += record.size();
  const bool has_room = !batches_.empty() && batches_.back().stage == Batch::Stage::GATHERING &&
                        batches_.back().size + size <= configuration_.batch_size_max;
  if (!has_room) batches_.emplace_back().id = next_append_id_++;
  Batch& batch = batches_.back();
  batch.size += size;
  batch.record_count += operation.records.size();
  std::ranges::move(operation.records, std::back_inserter(batch.records));
  std::ranges::move(operation.journal, std::back_inserter(batch.journal));
  if (outcome) batch.outcomes.push_back({std::move(*outcome), now_.monotonic + configuration_.commit_timeout});
}

void Shard::answer_in_order(Token token, int16_t version, ResponseBody response) {
  write({}, SendReply{token, version, std::move(response)});
}

void Shard::hand_out() {
  for (Batch& batch : batches_) {
    if (batch.stage == Batch::Stage::HANDED_OUT) return;
    if (batch.stage != Batch::Stage::GATHERING) continue;
    batch.stage = Batch::Stage::HANDED_OUT;
    actions_.push_back(Append{batch.id, std::move(batch.records)});
    return;
  }
}

void Shard::on(Appended& appended) {
  const auto batch = std::ranges::find_if(batches_, [](const Batch& candidate) { return candidate.stage == Batch::Stage::HANDED_OUT; });
  CHECK(batch != batches_.end() && batch->id == appended.id, "append {} was not handed out, or is settled already", appended.id);
  if (!appended.base_offset) return fail_from(static_cast<size_t>(batch - batches_.begin()), response_error(appended.base_offset.error().code));
  batch->stage = Batch::Stage::WRITTEN;
  batch->end_offset = *appended.base_offset + static_cast<int64_t>(batch->record_count);
  settle_committed();
}

void Shard::on(const CommittedUpTo& committed) {
  committed_up_to_ = std::max(committed_up_to_, committed.offset);
  settle_committed();
}

void Shard::settle_committed() {
  while (!batches_.empty() && batches_.front().stage == Batch::Stage::WRITTEN && batches_.front().end_offset <= committed_up_to_) {
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    for (auto& pending : batch.outcomes)
      if (!pending.done) finish(pending.outcome, ErrorCode::NONE);
  }
}

void Shard::fail_from(size_t first_batch, ErrorCode error) {
  std::vector<Batch> failed(std::make_move_iterator(batches_.begin() + static_cast<ptrdiff_t>(first_batch)), std::make_move_iterator(batches_.end()));
  batches_.erase(batches_.begin() + static_cast<ptrdiff_t>(first_batch), batches_.end());
  std::vector<GroupPointer> discarded;
  for (auto batch = failed.rbegin(); batch != failed.rend(); ++batch) state_.roll_back(batch->journal, discarded);
  for (const GroupPointer& group : discarded) {
    ClassicGroup* classic = as_classic(group);
    if (!classic || is_current(group)) continue;
    fail_waiting(*classic, error);
    for (const auto& [id, member] : classic->members()) cancel(TimerKey::Kind::HEARTBEAT, classic->id(), id);
    for (const auto& id : classic->pending()) cancel(TimerKey::Kind::HEARTBEAT, classic->id(), id);
    cancel(TimerKey::Kind::JOIN, classic->id());
    cancel(TimerKey::Kind::SYNC, classic->id());
    initial_delays_.erase(classic->id());
  }
  for (Batch& batch : failed)
    for (auto& pending : batch.outcomes)
      if (!pending.done) finish(pending.outcome, error);
}

void Shard::expire_outcomes() {
  std::vector<Outcome> due;
  for (Batch& batch : batches_) {
    for (PendingOutcome& pending : batch.outcomes) {
      if (pending.done || pending.deadline > now_.monotonic) continue;
      pending.done = true;
      due.push_back(std::move(pending.outcome));
    }
  }
  for (Outcome& outcome : due) finish(outcome, response_error(ErrorCode::REQUEST_TIMED_OUT));
}

bool Shard::is_current(const GroupPointer& group) const {
  const auto* classic = std::get_if<ClassicGroup>(group.get());
  return state_.find(classic ? classic->id() : std::get<OtherGroup>(*group).id()) == group;
}

void Shard::finish(Outcome& outcome, ErrorCode error) {
  if (auto* reply = std::get_if<SendReply>(&outcome)) finish_reply(*reply, error);
  else if (auto* store = std::get_if<StoreAssignment>(&outcome)) finish_assignment(*store, error);
  else finish_replacement(std::get<ReplaceStaticMember>(outcome), error);
}

void Shard::finish_reply(SendReply& reply, ErrorCode error) {
  if (error != ErrorCode::NONE) turn_into_error(reply.response, reply.version, error);
  answer(reply.token, std::move(reply.response));
}

CommittedView Shard::committed() const {
  std::vector<const Journal*> uncommitted;
  for (const Batch& batch : batches_) uncommitted.push_back(&batch.journal);
  return CommittedView(state_, uncommitted);
}

void Shard::schedule(TimerKey::Kind kind, const std::string& group, const std::string& member, int64_t timeout_ms) {
  // A member may name any timeout, a negative one too.
  timers_.schedule({kind, group, member}, now_.monotonic + std::chrono::milliseconds(std::max<int64_t>(timeout_ms, 0)));
}

void Shard::cancel(TimerKey::Kind kind, const std::string& group, const std::string& member) { timers_.cancel({kind, group, member}); }

void Shard::run_timers() {
  while (const auto due = timers_.take_due(now_.monotonic)) {
    switch (due->kind) {
      case TimerKey::Kind::HEARTBEAT: on_heartbeat_timeout(due->group, due->member); break;
      case TimerKey::Kind::JOIN: on_join_timeout(due->group); break;
      case TimerKey::Kind::SYNC: on_sync_timeout(due->group); break;
      case TimerKey::Kind::RETENTION: on_retention_check(); break;
      case TimerKey::Kind::OTHER_MEMBERS: on_other_members_timeout(due->group); break;
    }
  }
}

void Shard::resign() {
  std::deque<Batch> batches = std::exchange(batches_, {});
  for (Batch& batch : batches) {
    for (auto& pending : batch.outcomes) {
      // Join and sync requests wait in their members and are answered there.
      if (auto* reply = std::get_if<SendReply>(&pending.outcome); reply && !pending.done) finish_reply(*reply, ErrorCode::NOT_COORDINATOR);
    }
  }
  for (const auto& [id, group] : state_.groups())
    if (ClassicGroup* classic = as_classic(group)) fail_waiting(*classic, ErrorCode::NOT_COORDINATOR);
  timers_ = {};
}

}  // namespace castellan::group

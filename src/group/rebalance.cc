// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The course of a rebalance: prepare (all members join again), complete (the leader assigns), stable; and the timers that
// end each phase without those who do not come.
#include <algorithm>

#include "group/shard.h"

namespace castellan::group {

namespace {

constexpr int32_t retry_after_ms = 1'000;

}  // namespace

void Shard::rebalance_or_complete_join(const GroupPointer& group) {
  if (as_classic(group)->can_rebalance()) prepare_rebalance(group);
  else maybe_complete_join(group);
}

void Shard::maybe_complete_join(const GroupPointer& group) {
  const ClassicGroup& classic = *as_classic(group);
  // A first rebalance waits for its delay, so that members that start together get one generation.
  if (!classic.is(ClassicState::PREPARING_REBALANCE) || classic.previous_state() == ClassicState::EMPTY) return;
  if (classic.all_joined()) complete_join(group);
}

void Shard::prepare_rebalance(const GroupPointer& group) {
  ClassicGroup& classic = *as_classic(group);
  if (classic.is(ClassicState::COMPLETING_REBALANCE)) {
    for (const auto& [id, member] : classic.members()) classic.member(id)->assignment.clear();
    propagate_assignment(classic, ErrorCode::REBALANCE_IN_PROGRESS);
  }
  classic.clear_pending_sync();
  cancel(TimerKey::Kind::SYNC, classic.id());
  const bool is_initial = classic.is(ClassicState::EMPTY);
  if (is_initial) {
    const int64_t delay = configuration_.initial_rebalance_delay.count();
    initial_delays_[classic.id()] = {delay, std::max<int64_t>(classic.rebalance_timeout_ms() - delay, 0)};
    schedule(TimerKey::Kind::JOIN, classic.id(), "", delay);
  }
  classic.transition_to(ClassicState::PREPARING_REBALANCE, wall_ms());
  if (is_initial) return;
  if (classic.all_joined()) complete_join(group);
  else schedule(TimerKey::Kind::JOIN, classic.id(), "", classic.rebalance_timeout_ms());
}

void Shard::on_join_timeout(const std::string& id) {
  const GroupPointer group = state_.find(id);
  ClassicGroup* classic = as_classic(group);
  if (!classic || !classic->is(ClassicState::PREPARING_REBALANCE)) return;
  const auto delay = initial_delays_.find(id);
  if (delay != initial_delays_.end() && classic->new_member_added() && delay->second.remaining_ms != 0) {
    classic->set_new_member_added(false);
    const auto [delay_ms, remaining_ms] = delay->second;
    const int64_t next = std::min(configuration_.initial_rebalance_delay.count(), remaining_ms);
    delay->second = {next, std::max<int64_t>(remaining_ms - delay_ms, 0)};
    return schedule(TimerKey::Kind::JOIN, id, "", next);
  }
  complete_join(group);
}

void Shard::complete_join(const GroupPointer& group) {
  ClassicGroup& classic = *as_classic(group);
  cancel(TimerKey::Kind::JOIN, classic.id());
  initial_delays_.erase(classic.id());
  classic.set_new_member_added(false);
  std::vector<std::string> missing;
  for (const auto& [id, member] : classic.members())
    if (!member.join && !member.is_static()) missing.push_back(id);
  for (const std::string& id : missing) {
    classic.remove(id);
    cancel(TimerKey::Kind::HEARTBEAT, classic.id(), id);
  }
  if (!classic.elect_joined_leader() && !classic.members().empty()) {
    // Only static members are left, and none of them has come back yet: their session timeouts decide. Not at once again,
    // whatever timeout they have.
    return schedule(TimerKey::Kind::JOIN, classic.id(), "", std::max(classic.rebalance_timeout_ms(), retry_after_ms));
  }
  classic.next_generation(wall_ms());
  if (classic.is(ClassicState::EMPTY)) {
    Operation operation;
    operation.records.push_back(group_metadata_record(classic, {}));
    return write(std::move(operation), std::nullopt);
  }
  std::vector<std::string> ids;
  for (const auto& [id, member] : classic.members()) ids.push_back(id);
  for (const std::string& id : ids) {
    ClassicMember& member = *classic.member(id);
    if (const auto waiting = std::exchange(member.join, std::nullopt))
      answer_join(*waiting, current_generation(classic, id, classic.is_leader(id)));
    schedule_heartbeat(classic, member);
    member.is_new = false;
  }
  schedule(TimerKey::Kind::SYNC, classic.id(), "", classic.rebalance_timeout_ms());
}

void Shard::on_sync_timeout(const std::string& id) {
  const GroupPointer group = state_.find(id);
  ClassicGroup* classic = as_classic(group);
  if (!classic || classic->pending_sync().empty()) return;
  if (!classic->is(ClassicState::COMPLETING_REBALANCE) && !classic->is(ClassicState::STABLE)) return;
  const auto silent = classic->pending_sync();
  for (const std::string& member : silent) {
    classic->remove(member);
    cancel(TimerKey::Kind::HEARTBEAT, id, member);
  }
  prepare_rebalance(group);
}

void Shard::on_heartbeat_timeout(const std::string& id, const std::string& member_id) {
  const GroupPointer group = state_.find(id);
  ClassicGroup* classic = as_classic(group);
  if (!classic) return;
  if (classic->is_pending(member_id)) {
    classic->remove(member_id);
    if (classic->is(ClassicState::PREPARING_REBALANCE) && classic->all_joined()) complete_join(group);
    return;
  }
  const ClassicMember* member = classic->member(member_id);
  if (member && !member->heartbeat_satisfied()) remove_member(group, member_id);
}

void Shard::remove_member(const GroupPointer& group, const std::string& member_id) {
  ClassicGroup& classic = *as_classic(group);
  ClassicMember& member = *classic.member(member_id);
  if (const auto waiting = std::exchange(member.join, std::nullopt)) refuse_join(*waiting, "", ErrorCode::UNKNOWN_MEMBER_ID);
  if (const auto waiting = std::exchange(member.sync, std::nullopt))
    answer(waiting->token, error_response(wire::SyncGroupRequest{}, waiting->version, ErrorCode::UNKNOWN_MEMBER_ID));
  classic.remove(member_id);
  switch (classic.state()) {
    case ClassicState::STABLE:
    case ClassicState::COMPLETING_REBALANCE: return prepare_rebalance(group);
    case ClassicState::PREPARING_REBALANCE:
      if (classic.all_joined()) complete_join(group);
      return;
    case ClassicState::EMPTY: return;
  }
}

void Shard::fail_waiting(ClassicGroup& group, ErrorCode error) {
  std::vector<std::string> ids;
  for (const auto& [id, member] : group.members()) ids.push_back(id);
  for (const std::string& id : ids) {
    ClassicMember& member = *group.member(id);
    if (const auto waiting = std::exchange(member.join, std::nullopt)) refuse_join(*waiting, "", error);
    if (const auto waiting = std::exchange(member.sync, std::nullopt))
      answer(waiting->token, error_response(wire::SyncGroupRequest{}, waiting->version, error));
  }
}

void Shard::propagate_assignment(ClassicGroup& group, ErrorCode error) {
  std::vector<std::string> ids;
  for (const auto& [id, member] : group.members()) ids.push_back(id);
  for (const std::string& id : ids) {
    ClassicMember& member = *group.member(id);
    const auto waiting = std::exchange(member.sync, std::nullopt);
    if (!waiting) continue;
    wire::SyncGroupResponse response;
    response.error_code = static_cast<int16_t>(error);
    if (error == ErrorCode::NONE) {
      response.protocol_type = group.protocol_type();
      response.protocol_name = group.protocol();
      response.assignment = member.assignment;
    }
    answer(waiting->token, std::move(response));
    schedule_heartbeat(group, member);
  }
}

void Shard::schedule_heartbeat(const ClassicGroup& group, const ClassicMember& member) {
  schedule(TimerKey::Kind::HEARTBEAT, group.id(), member.id, member.session_timeout_ms);
}

}  // namespace castellan::group

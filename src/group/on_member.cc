// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// SyncGroup, Heartbeat and LeaveGroup: what a member that has joined sends.
#include "group/shard.h"

namespace castellan::group {

namespace {

bool differs(const std::optional<std::string>& said, const std::optional<std::string>& is) { return said && is && *said != *is; }

ErrorCode validate_sync(const ClassicGroup& group, const wire::SyncGroupRequest& sync) {
  if (const ErrorCode error = group.validate_member(sync.member_id, sync.group_instance_id); error != ErrorCode::NONE) return error;
  if (sync.generation_id != group.generation()) return ErrorCode::ILLEGAL_GENERATION;
  if (differs(sync.protocol_type, group.protocol_type()) || differs(sync.protocol_name, group.protocol()))
    return ErrorCode::INCONSISTENT_GROUP_PROTOCOL;
  return group.is(ClassicState::PREPARING_REBALANCE) ? ErrorCode::REBALANCE_IN_PROGRESS : ErrorCode::NONE;
}

}  // namespace

void Shard::on_sync(const Request& request, const wire::SyncGroupRequest& sync) {
  const GroupPointer group = state_.find(sync.group_id);
  ClassicGroup* classic = as_classic(group);
  const ErrorCode error = !classic || classic->is(ClassicState::EMPTY) ? ErrorCode::UNKNOWN_MEMBER_ID : validate_sync(*classic, sync);
  if (error != ErrorCode::NONE) return answer(request.token, error_response(sync, request.version, error));

  ClassicMember& member = *classic->member(sync.member_id);
  classic->remove_pending_sync(member.id);
  if (classic->pending_sync().empty()) cancel(TimerKey::Kind::SYNC, classic->id());
  if (classic->is(ClassicState::STABLE)) {
    wire::SyncGroupResponse response;
    response.protocol_type = classic->protocol_type();
    response.protocol_name = classic->protocol();
    response.assignment = member.assignment;
    return answer(request.token, std::move(response));
  }
  if (member.sync) answer(member.sync->token, error_response(sync, member.sync->version, ErrorCode::REBALANCE_IN_PROGRESS));
  member.sync = Waiting{request.token, request.version};
  if (!classic->is_leader(member.id)) return;

  StoreAssignment store{group, sync.generation_id, {}};
  for (const auto& assignment : sync.assignments) store.assignments[assignment.member_id] = assignment.assignment;
  Operation operation;
  operation.records.push_back(group_metadata_record(*classic, store.assignments));
  write(std::move(operation), std::move(store));
}

void Shard::finish_assignment(StoreAssignment& store, ErrorCode error) {
  ClassicGroup& group = *as_classic(store.group);
  // Another rebalance has begun meanwhile: nobody waits for this assignment any more.
  if (!is_current(store.group) || !group.is(ClassicState::COMPLETING_REBALANCE) || group.generation() != store.generation) return;
  if (error != ErrorCode::NONE) {
    propagate_assignment(group, error);
    return prepare_rebalance(store.group);
  }
  for (const auto& [id, member] : group.members()) {
    const auto assignment = store.assignments.find(id);
    group.member(id)->assignment = assignment == store.assignments.end() ? Bytes{} : assignment->second;
  }
  propagate_assignment(group, ErrorCode::NONE);
  group.transition_to(ClassicState::STABLE, wall_ms());
}

void Shard::on_heartbeat(const Request& request, const wire::HeartbeatRequest& heartbeat) {
  const GroupPointer group = state_.find(heartbeat.group_id);
  ClassicGroup* classic = as_classic(group);
  ErrorCode error = classic ? classic->validate_member(heartbeat.member_id, heartbeat.group_instance_id) : ErrorCode::UNKNOWN_MEMBER_ID;
  if (error == ErrorCode::NONE && heartbeat.generation_id != classic->generation()) error = ErrorCode::ILLEGAL_GENERATION;
  if (error == ErrorCode::NONE) {
    schedule_heartbeat(*classic, *classic->member(heartbeat.member_id));
    if (classic->is(ClassicState::PREPARING_REBALANCE)) error = ErrorCode::REBALANCE_IN_PROGRESS;
  }
  wire::HeartbeatResponse response;
  response.error_code = static_cast<int16_t>(error);
  answer_in_order(request.token, request.version, std::move(response));
}

void Shard::on_leave(const Request& request, const wire::LeaveGroupRequest& leave) {
  const GroupPointer group = state_.find(leave.group_id);
  ClassicGroup* classic = as_classic(group);
  wire::LeaveGroupResponse response;
  bool anybody_left = false;
  for (const auto& identity : leave.members) {
    ErrorCode error = ErrorCode::NONE;
    std::string member_id = identity.member_id;
    if (!classic) {
      error = ErrorCode::UNKNOWN_MEMBER_ID;
    } else if (member_id.empty()) {  // by its instance alone, as an operator's tool does
      const std::string* holder = identity.group_instance_id ? classic->static_member(*identity.group_instance_id) : nullptr;
      if (holder) member_id = *holder;
      else error = ErrorCode::UNKNOWN_MEMBER_ID;
    } else if (!classic->is_pending(member_id)) {
      error = classic->validate_member(member_id, identity.group_instance_id);
    }
    if (error == ErrorCode::NONE) {
      anybody_left = true;
      cancel(TimerKey::Kind::HEARTBEAT, classic->id(), member_id);
      if (ClassicMember* member = classic->member(member_id)) {
        if (const auto waiting = std::exchange(member->join, std::nullopt)) refuse_join(*waiting, "", ErrorCode::UNKNOWN_MEMBER_ID);
        if (const auto waiting = std::exchange(member->sync, std::nullopt))
          answer(waiting->token, error_response(wire::SyncGroupRequest{}, waiting->version, ErrorCode::UNKNOWN_MEMBER_ID));
      }
      classic->remove(member_id);
    }
    auto& answer = response.members.emplace_back();
    answer.member_id = identity.member_id;
    answer.group_instance_id = identity.group_instance_id;
    answer.error_code = static_cast<int16_t>(error);
  }
  if (anybody_left) {
    if (classic->is(ClassicState::PREPARING_REBALANCE)) maybe_complete_join(group);
    else if (!classic->is(ClassicState::EMPTY)) prepare_rebalance(group);
  }
  answer_in_order(request.token, request.version, std::move(response));
}

}  // namespace castellan::group

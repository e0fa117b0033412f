// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// JoinGroup (KIP-62, KIP-345 static members, KIP-394 member ids, KIP-814 skipped assignment).
#include <fmt/format.h>

#include "base/check.h"
#include "group/shard.h"

namespace castellan::group {

namespace {

constexpr int16_t version_requires_member_id = 4;
constexpr int16_t version_skips_assignment = 9;

Waiting waiting_of(const Request& request) { return {request.token, request.version}; }

}  // namespace

void Shard::answer_join(const Waiting& waiting, wire::JoinGroupResponse response) {
  if (!response.protocol_name || response.protocol_name->empty()) response.protocol_name = no_protocol(waiting.version);
  answer(waiting.token, std::move(response));
}

void Shard::refuse_join(const Waiting& waiting, const std::string& member_id, ErrorCode error) {
  wire::JoinGroupResponse response;
  response.member_id = member_id;
  response.error_code = static_cast<int16_t>(error);
  answer_join(waiting, std::move(response));
}

wire::JoinGroupResponse Shard::current_generation(ClassicGroup& group, const std::string& member_id, bool with_members) {
  wire::JoinGroupResponse response;
  response.member_id = member_id;
  response.generation_id = group.generation();
  response.protocol_type = group.protocol_type();
  response.protocol_name = group.protocol();
  response.leader = group.leader().value_or("");
  if (with_members) {
    for (const auto& [id, member] : group.members()) {
      auto& entry = response.members.emplace_back();
      entry.member_id = id;
      entry.group_instance_id = member.instance_id;
      const Bytes* metadata = group.protocol() ? member.metadata(*group.protocol()) : nullptr;
      CHECK(metadata != nullptr, "member {} of group {} does not support the group's protocol", id, group.id());
      entry.metadata = *metadata;
    }
  }
  return response;
}

void Shard::on_join(const Request& request, const wire::JoinGroupRequest& join) {
  // A group of another protocol that has members, and any share group, stays what it is.
  const GroupPointer group = state_.find(join.group_id);
  const OtherGroup* other = as_other(group);
  if (other && (other->has_members() || other->type() == GroupType::SHARE))
    return refuse_join(waiting_of(request), "", ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  join_classic(request, join);
}

void Shard::join_classic(const Request& request, const wire::JoinGroupRequest& join) {
  const bool is_unknown_member = join.member_id.empty();
  Operation creation;
  GroupPointer group = state_.find(join.group_id);
  if (const OtherGroup* other = as_other(group)) {
    creation.records = other->tombstones();
    state_.set_group(join.group_id, nullptr, creation.journal);
    group = nullptr;
  }
  if (!group && !is_unknown_member) {
    write(std::move(creation), std::nullopt);
    return refuse_join(waiting_of(request), join.member_id, ErrorCode::UNKNOWN_MEMBER_ID);
  }
  if (!group) {
    group = std::make_shared<Group>(ClassicGroup(join.group_id, wall_ms()));
    state_.set_group(join.group_id, group, creation.journal);
    creation.records.push_back(empty_group_metadata_record(*as_classic(group)));
    write(std::move(creation), std::nullopt);
  }
  ClassicGroup& classic = *as_classic(group);
  if (!accepts(classic, join.member_id)) {
    classic.remove(join.member_id);
    cancel(TimerKey::Kind::HEARTBEAT, classic.id(), join.member_id);
    refuse_join(waiting_of(request), "", ErrorCode::GROUP_MAX_SIZE_REACHED);
    return maybe_complete_join(group);  // it may have been the last one to be waited for
  }
  if (is_unknown_member) join_new_member(request, join, group);
  else join_known_member(request, join, group);
}

bool Shard::accepts(const ClassicGroup& group, const std::string& member_id) const {
  const auto limit = static_cast<size_t>(configuration_.group_size_max);
  switch (group.state()) {
    case ClassicState::EMPTY: return true;
    case ClassicState::PREPARING_REBALANCE: {
      const auto member = group.members().find(member_id);
      return (member != group.members().end() && member->second.join) || group.joining_count() < limit;
    }
    case ClassicState::COMPLETING_REBALANCE:
    case ClassicState::STABLE: return group.has_member(member_id) || group.members().size() < limit;
  }
  return false;
}

std::string Shard::new_member_id(const Request& request, const wire::JoinGroupRequest& join) {
  const Uuid id = prng_.uuid();
  return fmt::format("{}-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", join.group_instance_id ? *join.group_instance_id : request.client_id, id.high >> 32,
                     id.high >> 16 & 0xffff, id.high & 0xffff, id.low >> 48, id.low & 0xffffffffffffull);
}

void Shard::join_new_member(const Request& request, const wire::JoinGroupRequest& join, const GroupPointer& group) {
  ClassicGroup& classic = *as_classic(group);
  if (!classic.supports(join.protocol_type, join.protocols))
    return refuse_join(waiting_of(request), "", ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  const std::string member_id = new_member_id(request, join);
  if (join.group_instance_id) {
    if (const std::string* holder = classic.static_member(*join.group_instance_id))
      return replace_static_member(request, join, group, std::string(*holder), member_id);
    return add_member(request, join, group, member_id);
  }
  if (request.version < version_requires_member_id) return add_member(request, join, group, member_id);
  classic.add_pending(member_id);
  schedule(TimerKey::Kind::HEARTBEAT, classic.id(), member_id, join.session_timeout_ms);
  refuse_join(waiting_of(request), member_id, ErrorCode::MEMBER_ID_REQUIRED);
}

void Shard::join_known_member(const Request& request, const wire::JoinGroupRequest& join, const GroupPointer& group) {
  ClassicGroup& classic = *as_classic(group);
  const Waiting waiting = waiting_of(request);
  if (!classic.supports(join.protocol_type, join.protocols)) return refuse_join(waiting, join.member_id, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  if (classic.is_pending(join.member_id)) {
    // Only dynamic members are pending, so one that calls itself static now has mixed up its ids.
    if (join.group_instance_id) return refuse_join(waiting, "", ErrorCode::UNKNOWN_SERVER_ERROR);
    return add_member(request, join, group, join.member_id);
  }
  if (const ErrorCode error = classic.validate_member(join.member_id, join.group_instance_id); error != ErrorCode::NONE)
    return refuse_join(waiting, join.member_id, error);
  ClassicMember& member = *classic.member(join.member_id);
  const bool same = member.protocols == join.protocols;
  const bool is_leader = classic.is_leader(member.id);
  if (classic.is(ClassicState::COMPLETING_REBALANCE) && same)
    return answer_join(waiting, current_generation(classic, member.id, is_leader));
  if (classic.is(ClassicState::STABLE) && same && !is_leader) return answer_join(waiting, current_generation(classic, member.id, false));
  if (member.join) refuse_join(*member.join, member.id, ErrorCode::REBALANCE_IN_PROGRESS);
  classic.update(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms, waiting);
  rebalance_or_complete_join(group);
}

void Shard::add_member(const Request& request, const wire::JoinGroupRequest& join, const GroupPointer& group, const std::string& member_id) {
  ClassicGroup& classic = *as_classic(group);
  ClassicMember member;
  member.id = member_id;
  member.instance_id = join.group_instance_id;
  member.client_id = request.client_id;
  member.client_host = request.client_host;
  member.rebalance_timeout_ms = join.rebalance_timeout_ms;
  member.session_timeout_ms = join.session_timeout_ms;
  member.protocols = join.protocols;
  member.join = waiting_of(request);
  member.is_new = true;
  if (classic.is(ClassicState::PREPARING_REBALANCE) && classic.previous_state() == ClassicState::EMPTY) classic.set_new_member_added(true);
  classic.add(std::move(member), join.protocol_type);
  // While it waits for its first generation the session timeout does not run: a rebalance may take longer.
  schedule(TimerKey::Kind::HEARTBEAT, classic.id(), member_id, configuration_.new_member_join_timeout.count());
  rebalance_or_complete_join(group);
}

void Shard::replace_static_member(const Request& request, const wire::JoinGroupRequest& join, const GroupPointer& group,
                                  const std::string& old_id, const std::string& new_id) {
  ClassicGroup& classic = *as_classic(group);
  const auto leader_before = classic.leader();
  const ClassicMember before = *classic.member(old_id);
  const auto fenced = classic.replace_static_member(*join.group_instance_id, old_id, new_id);
  if (fenced.join) refuse_join(*fenced.join, old_id, ErrorCode::FENCED_INSTANCE_ID);
  if (fenced.sync) answer(fenced.sync->token, error_response(wire::SyncGroupRequest{}, fenced.sync->version, ErrorCode::FENCED_INSTANCE_ID));
  cancel(TimerKey::Kind::HEARTBEAT, classic.id(), old_id);
  ClassicMember& member = *classic.member(new_id);
  schedule_heartbeat(classic, member);
  const Waiting waiting = waiting_of(request);
  classic.update(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms, waiting);

  switch (classic.state()) {
    case ClassicState::STABLE: {
      if (classic.protocol() != classic.select_protocol()) return rebalance_or_complete_join(group);
      // The assignment stays, only its owner's id is another: no rebalance, but the new id must outlive a restart.
      std::map<std::string, Bytes> assignments;
      for (const auto& [id, entry] : classic.members()) assignments[id] = entry.assignment;
      Operation operation;
      operation.records.push_back(group_metadata_record(classic, assignments));
      return write(std::move(operation), ReplaceStaticMember{group, before, new_id, leader_before, waiting});
    }
    case ClassicState::COMPLETING_REBALANCE: return prepare_rebalance(group);
    case ClassicState::PREPARING_REBALANCE: return maybe_complete_join(group);
    case ClassicState::EMPTY: CHECK(false, "group {} is empty and has static member {}", classic.id(), new_id);
  }
}

void Shard::finish_replacement(ReplaceStaticMember& replace, ErrorCode error) {
  if (!is_current(replace.group)) return;  // gone, and its waiting requests answered
  ClassicGroup& classic = *as_classic(replace.group);
  ClassicMember* member = classic.member(replace.new_id);
  const bool waits = member && member->join && member->join->token == replace.waiting.token;
  if (!waits) return;  // it left, or a later request took its place
  member->join.reset();
  if (error != ErrorCode::NONE) {
    wire::JoinGroupResponse response = current_generation(classic, "", false);
    response.leader = replace.leader_before.value_or("");
    response.error_code = static_cast<int16_t>(error);
    answer_join(replace.waiting, std::move(response));
    cancel(TimerKey::Kind::HEARTBEAT, classic.id(), replace.new_id);
    classic.replace_static_member(*replace.before.instance_id, replace.new_id, replace.before.id);
    ClassicMember& restored = *classic.member(replace.before.id);
    classic.update(restored, replace.before.protocols, replace.before.rebalance_timeout_ms, replace.before.session_timeout_ms, std::nullopt);
    schedule_heartbeat(classic, restored);
    return;
  }
  const bool may_skip = replace.waiting.version >= version_skips_assignment;
  const bool is_leader = classic.is_leader(replace.new_id);
  wire::JoinGroupResponse response = current_generation(classic, replace.new_id, may_skip && is_leader);
  // Before v9 a leader could not be told to skip the assignment, so it is not told that it leads.
  if (may_skip) response.skip_assignment = is_leader;
  else response.leader = replace.leader_before.value_or("");
  answer_join(replace.waiting, std::move(response));
}

}  // namespace castellan::group

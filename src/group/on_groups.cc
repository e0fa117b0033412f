// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// DescribeGroups, ListGroups and DeleteGroups: what tools ask.
#include <algorithm>
#include <set>

#include "group/shard.h"

namespace castellan::group {

namespace {

constexpr int16_t version_says_not_found = 6;
constexpr int16_t version_says_deletion_failed = 3;

std::string lower_case(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  std::string result(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
  std::ranges::transform(result, result.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; });
  return result;
}

std::set<std::string> lower_case_set(const std::vector<std::string>& texts) {
  std::set<std::string> result;
  for (const auto& text : texts) result.insert(lower_case(text));
  return result;
}

}  // namespace

void Shard::on_describe(const Request& request, const DescribeGroups& describe) {
  const CommittedView view = committed();
  wire::DescribeGroupsResponse response;
  for (const std::string& id : describe.groups) {
    auto& answer = response.groups.emplace_back();
    answer.group_id = id;
    const GroupPointer group = view.find(id);
    const ClassicGroup* classic = as_classic(group);
    if (!classic) {
      answer.group_state = "Dead";
      if (request.version >= version_says_not_found) {
        answer.error_code = static_cast<int16_t>(ErrorCode::GROUP_ID_NOT_FOUND);
        answer.error_message = group ? fmt::format("Group {} is not a classic group.", id) : fmt::format("Group {} not found.", id);
      }
      continue;
    }
    const bool is_stable = classic->is(ClassicState::STABLE);
    answer.group_state = state_name(classic->state());
    answer.protocol_type = classic->protocol_type().value_or("");
    if (is_stable) answer.protocol_data = classic->protocol().value_or("");
    for (const auto& [member_id, member] : classic->members()) {
      auto& entry = answer.members.emplace_back();
      entry.member_id = member_id;
      entry.group_instance_id = member.instance_id;
      entry.client_id = member.client_id;
      entry.client_host = member.client_host;
      entry.member_assignment = member.assignment;
      const Bytes* metadata = is_stable && classic->protocol() ? member.metadata(*classic->protocol()) : nullptr;
      if (metadata) entry.member_metadata = *metadata;
    }
  }
  answer(request.token, std::move(response));
}

void Shard::on_list(const Request& request, const wire::ListGroupsRequest& list) {
  const auto states = lower_case_set(list.states_filter);
  const auto types = lower_case_set(list.types_filter);
  wire::ListGroupsResponse response;
  for (const auto& [id, group] : committed().groups()) {
    const ClassicGroup* classic = as_classic(group);
    const std::string_view state = classic ? state_name(classic->state()) : as_other(group)->state();
    const GroupType type = classic ? GroupType::CLASSIC : as_other(group)->type();
    if (!states.empty() && !states.contains(lower_case(state))) continue;
    if (!types.empty() && !types.contains(std::string(type_name(type)))) continue;
    auto& entry = response.groups.emplace_back();
    entry.group_id = id;
    entry.protocol_type = classic ? classic->protocol_type().value_or("") : std::string(type_name(type));
    entry.group_state = state;
    entry.group_type = type_name(type);
  }
  answer(request.token, std::move(response));
}

void Shard::on_delete(const Request& request, const DeleteGroups& remove) {
  Operation operation;
  wire::DeleteGroupsResponse response;
  for (const std::string& id : remove.groups) {
    auto& answer = response.results.emplace_back();
    answer.group_id = id;
    const GroupPointer group = state_.find(id);
    const OtherGroup* other = as_other(group);
    if (!group) {
      answer.error_code = static_cast<int16_t>(ErrorCode::GROUP_ID_NOT_FOUND);
      continue;
    }
    if (!is_empty(*group)) {
      answer.error_code = static_cast<int16_t>(ErrorCode::NON_EMPTY_GROUP);
      continue;
    }
    if (other && other->has_share_state()) {
      // Its state in __share_group_state would be left behind without an owner.
      const bool has_code = request.version >= version_says_deletion_failed;
      answer.error_code = static_cast<int16_t>(has_code ? ErrorCode::GROUP_DELETION_FAILED : ErrorCode::UNKNOWN_SERVER_ERROR);
      answer.error_message = fmt::format("Share group {} has state that this node cannot delete yet", id);
      continue;
    }
    std::set<OffsetKey> keys;
    if (const TopicOffsets* offsets = state_.offsets().find_group(id))
      for (const auto& [topic, partitions] : *offsets)
        for (const auto& [partition, value] : partitions) keys.insert({id, topic, partition});
    for (OffsetKey& key : state_.offsets().pending_keys(id)) keys.insert(std::move(key));
    for (const OffsetKey& key : keys) {
      operation.records.push_back(offset_tombstone(key));
      state_.remove_offset(key, operation.journal);
    }
    remove_group(id, operation);
  }
  write(std::move(operation), SendReply{request.token, request.version, std::move(response)});
}

void Shard::remove_group(const std::string& id, Operation& operation) {
  const GroupPointer group = state_.find(id);
  if (ClassicGroup* classic = as_classic(group)) {
    // Those who were given an id and have not come back yet will hear that they are unknown.
    const auto pending = classic->pending();
    for (const std::string& member : pending) {
      cancel(TimerKey::Kind::HEARTBEAT, id, member);
      classic->remove(member);
    }
    operation.records.push_back(group_metadata_tombstone(id));
  } else {
    for (Record& record : as_other(group)->tombstones()) operation.records.push_back(std::move(record));
  }
  state_.set_group(id, nullptr, operation.journal);
}

}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What each request needs before its group is asked: checks that need no group, names for topic ids, one form for all
// versions (B325, B339, B357).
#include <algorithm>
#include <set>

#include "group/coordinator.h"

namespace castellan::group {

namespace {

constexpr int16_t version_names_protocol = 5;  // of SyncGroup
constexpr int16_t version_with_members = 3;    // of LeaveGroup

int16_t number(ErrorCode code) { return static_cast<int16_t>(code); }

}  // namespace

void Coordinator::route(const ApiRequest& request, const wire::JoinGroupRequest& body, const TopicsView&) {
  wire::JoinGroupResponse response;
  response.member_id = body.member_id;
  response.protocol_name = no_protocol(request.version);
  const auto timeout = std::chrono::milliseconds(body.session_timeout_ms);
  if (body.group_id.empty()) response.error_code = number(ErrorCode::INVALID_GROUP_ID);
  else if (timeout < configuration_.session_timeout_min || timeout > configuration_.session_timeout_max)
    response.error_code = number(ErrorCode::INVALID_SESSION_TIMEOUT);
  const bool is_good = response.error_code == 0;
  const uint64_t waiting = begin(request, std::move(response));
  if (is_good) {
    wire::JoinGroupRequest join = body;
    if (request.version == 0) join.rebalance_timeout_ms = join.session_timeout_ms;  // v0 has one timeout for both
    ask(waiting, request, body.group_id, 0, std::move(join));
  }
  end(waiting);
}

void Coordinator::route(const ApiRequest& request, const wire::SyncGroupRequest& body, const TopicsView&) {
  wire::SyncGroupResponse response;
  if (request.version >= version_names_protocol && (!body.protocol_type || !body.protocol_name))
    response.error_code = number(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  else if (body.group_id.empty()) response.error_code = number(ErrorCode::INVALID_GROUP_ID);
  const bool is_good = response.error_code == 0;
  const uint64_t waiting = begin(request, std::move(response));
  if (is_good) ask(waiting, request, body.group_id, 0, body);
  end(waiting);
}

void Coordinator::route(const ApiRequest& request, const wire::HeartbeatRequest& body, const TopicsView&) {
  wire::HeartbeatResponse response;
  if (body.group_id.empty()) response.error_code = number(ErrorCode::INVALID_GROUP_ID);
  const uint64_t waiting = begin(request, response);
  if (!body.group_id.empty()) ask(waiting, request, body.group_id, 0, body);
  end(waiting);
}

void Coordinator::route(const ApiRequest& request, const wire::LeaveGroupRequest& body, const TopicsView&) {
  wire::LeaveGroupResponse response;
  if (body.group_id.empty()) response.error_code = number(ErrorCode::INVALID_GROUP_ID);
  const uint64_t waiting = begin(request, std::move(response));
  if (!body.group_id.empty()) {
    wire::LeaveGroupRequest leave = body;
    if (request.version < version_with_members) {
      leave.members.clear();
      leave.members.emplace_back().member_id = body.member_id;
    }
    ask(waiting, request, body.group_id, 0, std::move(leave));
  }
  end(waiting);
}

void Coordinator::route(const ApiRequest& request, const wire::OffsetCommitRequest& body, const TopicsView& topics) {
  const bool by_id = request.version >= version_with_topic_ids;
  wire::OffsetCommitResponse refused;
  wire::OffsetCommitRequest commit = body;
  commit.topics.clear();
  for (const auto& asked : body.topics) {
    auto topic = asked;
    if (by_id) topic.name = topics.topic_name(asked.topic_id).value_or("");
    else topic.topic_id = topics.topic_id(asked.name);
    const bool is_known = by_id ? !topic.name.empty() : !topic.topic_id.is_zero();
    const auto is_missing = [&](const auto& partition) { return !is_known || !topics.has_partition(topic.name, partition.partition_index); };
    if (std::ranges::any_of(topic.partitions, is_missing) || !is_known) {
      auto& answer = refused.topics.emplace_back();
      answer.name = topic.name;
      answer.topic_id = topic.topic_id;
      const ErrorCode error = by_id && !is_known ? ErrorCode::UNKNOWN_TOPIC_ID : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      for (const auto& partition : topic.partitions) {
        if (!is_missing(partition)) continue;
        auto& result = answer.partitions.emplace_back();
        result.partition_index = partition.partition_index;
        result.error_code = number(error);
      }
      std::erase_if(topic.partitions, is_missing);
    }
    if (!topic.partitions.empty()) commit.topics.push_back(std::move(topic));
  }
  const bool is_empty = commit.topics.empty();
  const uint64_t waiting = begin(request, std::move(refused));
  if (!is_empty) ask(waiting, request, body.group_id, 0, std::move(commit));
  end(waiting);
}

void Coordinator::route(const ApiRequest& request, const wire::OffsetFetchRequest& body, const TopicsView& topics) {
  using FetchGroup = wire::OffsetFetchRequest::OffsetFetchRequestGroup;
  const bool by_id = request.version >= version_with_topic_ids;
  std::vector<FetchGroup> groups = body.groups;
  if (request.version < version_with_groups) {
    FetchGroup& group = groups.emplace_back();
    group.group_id = body.group_id;
    group.topics.reset();
    if (body.topics) {
      group.topics.emplace();
      for (const auto& topic : *body.topics) {
        auto& entry = group.topics->emplace_back();
        entry.name = topic.name;
        entry.partition_indexes = topic.partition_indexes;
      }
    }
  }
  wire::OffsetFetchResponse response;
  if (request.version >= version_with_groups) response.groups.resize(groups.size());
  for (size_t i = 0; by_id && i < groups.size(); ++i) {
    if (!groups[i].topics) continue;
    for (auto& topic : *groups[i].topics) {
      topic.name = topics.topic_name(topic.topic_id).value_or("");
      if (!topic.name.empty()) continue;
      auto& refused = response.groups[i].topics.emplace_back();
      refused.topic_id = topic.topic_id;
      for (const int32_t partition : topic.partition_indexes) {
        auto& result = refused.partitions.emplace_back();
        result.partition_index = partition;
        result.committed_offset = -1;
        result.metadata = "";
        result.error_code = number(ErrorCode::UNKNOWN_TOPIC_ID);
      }
    }
    std::erase_if(*groups[i].topics, [](const auto& topic) { return topic.name.empty(); });
  }
  const uint64_t waiting = begin(request, std::move(response));
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string id = groups[i].group_id;
    ask(waiting, request, id, i, OffsetFetch{std::move(groups[i]), body.require_stable});
  }
  end(waiting);
}

void Coordinator::route(const ApiRequest& request, const wire::OffsetDeleteRequest& body, const TopicsView& topics) {
  wire::OffsetDeleteResponse refused;
  wire::OffsetDeleteRequest remove = body;
  if (body.group_id.empty()) {
    refused.error_code = number(ErrorCode::INVALID_GROUP_ID);
    return end(begin(request, std::move(refused)));
  }
  for (auto& topic : remove.topics) {
    const auto is_missing = [&](const auto& partition) { return !topics.has_partition(topic.name, partition.partition_index); };
    if (topics.topic_id(topic.name).is_zero() || std::ranges::any_of(topic.partitions, is_missing)) {
      auto& answer = refused.topics.emplace_back();
      answer.name = topic.name;
      for (const auto& partition : topic.partitions) {
        if (!is_missing(partition)) continue;
        auto& result = answer.partitions.emplace_back();
        result.partition_index = partition.partition_index;
        result.error_code = number(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
      }
      std::erase_if(topic.partitions, is_missing);
    }
  }
  std::erase_if(remove.topics, [](const auto& topic) { return topic.partitions.empty(); });
  const uint64_t waiting = begin(request, std::move(refused));
  ask(waiting, request, body.group_id, 0, std::move(remove));
  end(waiting);
}

void Coordinator::route(const ApiRequest& request, const wire::DescribeGroupsRequest& body, const TopicsView&) {
  wire::DescribeGroupsResponse response;
  response.groups.resize(body.groups.size());
  if (request.version >= 3 && body.include_authorized_operations)
    for (auto& group : response.groups) group.authorized_operations = 0;  // asks merge() to fill them in
  const uint64_t waiting = begin(request, std::move(response));
  for (size_t i = 0; i < body.groups.size(); ++i) ask(waiting, request, body.groups[i], i, DescribeGroups{{body.groups[i]}});
  end(waiting);
}

void Coordinator::route(const ApiRequest& request, const wire::DeleteGroupsRequest& body, const TopicsView&) {
  std::vector<std::string> names;
  for (const auto& name : body.groups_names)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  wire::DeleteGroupsResponse response;
  response.results.resize(names.size());
  const uint64_t waiting = begin(request, std::move(response));
  for (size_t i = 0; i < names.size(); ++i) ask(waiting, request, names[i], i, DeleteGroups{{names[i]}});
  end(waiting);
}

void Coordinator::route(const ApiRequest& request, const wire::ListGroupsRequest& body, const TopicsView&) {
  const uint64_t waiting = begin(request, wire::ListGroupsResponse{});
  std::vector<int32_t> partitions;
  for (const auto& [partition, slot] : slots_) partitions.push_back(partition);
  for (const int32_t partition : partitions) ask_partition(waiting, request, partition, 0, body);
  end(waiting);
}

}  // namespace castellan::group

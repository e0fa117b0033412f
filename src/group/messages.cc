// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/messages.h"

namespace castellan::group {

namespace {

int16_t number(ErrorCode code) { return static_cast<int16_t>(code); }

struct ErrorFor {
  int16_t version;
  ErrorCode code;

  ResponseBody operator()(const wire::JoinGroupRequest&) const {
    wire::JoinGroupResponse response;
    response.error_code = number(code);
    response.protocol_name = no_protocol(version);
    return response;
  }
  ResponseBody operator()(const wire::SyncGroupRequest&) const {
    wire::SyncGroupResponse response;
    response.error_code = number(code);
    return response;
  }
  ResponseBody operator()(const wire::HeartbeatRequest&) const {
    wire::HeartbeatResponse response;
    // While the group is loaded nobody can tell whether the member is good: it is told to go on.
    response.error_code = code == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS ? 0 : number(code);
    return response;
  }
  ResponseBody operator()(const wire::LeaveGroupRequest& request) const {
    wire::LeaveGroupResponse response;
    if (code == ErrorCode::UNKNOWN_MEMBER_ID && version >= 3) {
      for (const auto& member : request.members) {
        auto& answer = response.members.emplace_back();
        answer.member_id = member.member_id;
        answer.group_instance_id = member.group_instance_id;
        answer.error_code = number(code);
      }
    } else {
      response.error_code = number(code);
    }
    return response;
  }
  ResponseBody operator()(const wire::OffsetCommitRequest& request) const {
    wire::OffsetCommitResponse response;
    for (const auto& topic : request.topics) {
      auto& answer = response.topics.emplace_back();
      answer.name = topic.name;
      answer.topic_id = topic.topic_id;
      for (const auto& partition : topic.partitions) {
        auto& result = answer.partitions.emplace_back();
        result.partition_index = partition.partition_index;
        result.error_code = number(code);
      }
    }
    return response;
  }
  ResponseBody operator()(const OffsetFetch& request) const {
    wire::OffsetFetchResponse::OffsetFetchResponseGroup response;
    response.group_id = request.group.group_id;
    if (version >= 2) {
      response.error_code = number(code);
    } else if (request.group.topics) {
      for (const auto& topic : *request.group.topics) {
        auto& answer = response.topics.emplace_back();
        answer.name = topic.name;
        for (const int32_t partition : topic.partition_indexes) {
          auto& result = answer.partitions.emplace_back();
          result.partition_index = partition;
          result.committed_offset = -1;
          result.metadata = "";
          result.error_code = number(code);
        }
      }
    }
    return response;
  }
  ResponseBody operator()(const wire::OffsetDeleteRequest&) const {
    wire::OffsetDeleteResponse response;
    response.error_code = number(code);
    return response;
  }
  ResponseBody operator()(const DescribeGroups& request) const {
    wire::DescribeGroupsResponse response;
    for (const auto& group : request.groups) {
      auto& answer = response.groups.emplace_back();
      answer.group_id = group;
      answer.error_code = number(code);
    }
    return response;
  }
  ResponseBody operator()(const DeleteGroups& request) const {
    wire::DeleteGroupsResponse response;
    for (const auto& group : request.groups) {
      auto& answer = response.results.emplace_back();
      answer.group_id = group;
      answer.error_code = number(code);
    }
    return response;
  }
  ResponseBody operator()(const wire::ListGroupsRequest&) const {
    wire::ListGroupsResponse response;
    response.error_code = number(code);
    return response;
  }
};

struct TurnIntoError {
  int16_t version;
  ErrorCode code;

  void operator()(wire::JoinGroupResponse& response) const {
    wire::JoinGroupResponse error;
    error.error_code = number(code);
    error.protocol_name = no_protocol(version);
    response = error;
  }
  void operator()(wire::SyncGroupResponse& response) const {
    response = {};
    response.error_code = number(code);
  }
  void operator()(wire::HeartbeatResponse& response) const { response.error_code = number(code); }
  void operator()(wire::LeaveGroupResponse& response) const {
    response.members.clear();
    response.error_code = number(code);
  }
  void operator()(wire::OffsetCommitResponse& response) const {
    for (auto& topic : response.topics)
      for (auto& partition : topic.partitions) partition.error_code = number(code);
  }
  void operator()(wire::OffsetFetchResponse::OffsetFetchResponseGroup& response) const {
    if (version >= 2) {
      response.topics.clear();
      response.error_code = number(code);
      return;
    }
    for (auto& topic : response.topics) {
      for (auto& partition : topic.partitions) {
        partition.committed_offset = -1;
        partition.metadata = "";
        partition.error_code = number(code);
      }
    }
  }
  void operator()(wire::OffsetDeleteResponse& response) const {
    response.topics.clear();
    response.error_code = number(code);
  }
  void operator()(wire::DescribeGroupsResponse& response) const {
    for (auto& group : response.groups) {
      const std::string id = group.group_id;
      group = {};
      group.group_id = id;
      group.error_code = number(code);
    }
  }
  void operator()(wire::DeleteGroupsResponse& response) const {
    for (auto& group : response.results) group.error_code = number(code);
  }
  void operator()(wire::ListGroupsResponse& response) const {
    response.groups.clear();
    response.error_code = number(code);
  }
};

}  // namespace

std::optional<std::string> no_protocol(int16_t version) {
  return version < 7 ? std::optional(std::string()) : std::nullopt;
}

ResponseBody error_response(const RequestBody& request, int16_t version, ErrorCode code) {
  return std::visit(ErrorFor{version, code}, request);
}

void turn_into_error(ResponseBody& response, int16_t version, ErrorCode code) {
  std::visit(TurnIntoError{version, code}, response);
}

ErrorCode response_error(ErrorCode append_error) {
  switch (append_error) {
    case ErrorCode::NETWORK_EXCEPTION: return ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode::NOT_ENOUGH_REPLICAS:
    case ErrorCode::REQUEST_TIMED_OUT: return ErrorCode::COORDINATOR_NOT_AVAILABLE;
    case ErrorCode::NOT_LEADER_OR_FOLLOWER:
    case ErrorCode::KAFKA_STORAGE_ERROR: return ErrorCode::NOT_COORDINATOR;
    case ErrorCode::MESSAGE_TOO_LARGE:
    case ErrorCode::RECORD_LIST_TOO_LARGE:
    case ErrorCode::INVALID_FETCH_SIZE: return ErrorCode::UNKNOWN_SERVER_ERROR;
    default: return append_error;
  }
}

}  // namespace castellan::group

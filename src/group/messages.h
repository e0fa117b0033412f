// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What goes into and comes out of a shard: requests as the wire has them, cut down to one shard's part where a request
// may name groups of several (OffsetFetch from v8, DescribeGroups, ListGroups, DeleteGroups).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error_code.h"
#include "wire/messages/delete_groups_response.h"
#include "wire/messages/describe_groups_response.h"
#include "wire/messages/heartbeat_request.h"
#include "wire/messages/heartbeat_response.h"
#include "wire/messages/join_group_request.h"
#include "wire/messages/join_group_response.h"
#include "wire/messages/leave_group_request.h"
#include "wire/messages/leave_group_response.h"
#include "wire/messages/list_groups_request.h"
#include "wire/messages/list_groups_response.h"
#include "wire/messages/offset_commit_request.h"
#include "wire/messages/offset_commit_response.h"
#include "wire/messages/offset_delete_request.h"
#include "wire/messages/offset_delete_response.h"
#include "wire/messages/offset_fetch_request.h"
#include "wire/messages/offset_fetch_response.h"
#include "wire/messages/sync_group_request.h"
#include "wire/messages/sync_group_response.h"

namespace castellan::group {

// The caller's name for a request whose answer may come later.
using Token = uint64_t;

struct DescribeGroups {
  std::vector<std::string> groups;
};

struct DeleteGroups {
  std::vector<std::string> groups;
};

// One group of an OffsetFetch, v1 to v7 brought into the form of v8. For a null list of topics: all.
struct OffsetFetch {
  wire::OffsetFetchRequest::OffsetFetchRequestGroup group;
  bool require_stable = false;
};

using RequestBody = std::variant<wire::JoinGroupRequest, wire::SyncGroupRequest, wire::HeartbeatRequest, wire::LeaveGroupRequest,
                                 wire::OffsetCommitRequest, OffsetFetch, wire::OffsetDeleteRequest, DescribeGroups, DeleteGroups,
                                 wire::ListGroupsRequest>;

// In the same order as RequestBody: alternative i answers request i.
using ResponseBody =
    std::variant<wire::JoinGroupResponse, wire::SyncGroupResponse, wire::HeartbeatResponse, wire::LeaveGroupResponse,
                 wire::OffsetCommitResponse, wire::OffsetFetchResponse::OffsetFetchResponseGroup, wire::OffsetDeleteResponse,
                 wire::DescribeGroupsResponse, wire::DeleteGroupsResponse, wire::ListGroupsResponse>;

struct Request {
  Token token = 0;
  int16_t version = 0;
  std::string client_id;
  std::string client_host;  // as Kafka keeps it: "/10.0.0.7"
  RequestBody body;
};

// The protocol name of a JoinGroup answer that has none: null, but before v7 there was no null.
std::optional<std::string> no_protocol(int16_t version);

// The answer that says `code` and nothing else, in the form that Kafka gives it for this request and version.
ResponseBody error_response(const RequestBody& request, int16_t version, ErrorCode code);

// Turns an answer that was ready to go into one that says `code`: its append failed.
void turn_into_error(ResponseBody& response, int16_t version, ErrorCode code);

// What a client is told when the append of its records failed with `append_error`.
ErrorCode response_error(ErrorCode append_error);

}  // namespace castellan::group

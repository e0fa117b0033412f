// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// All shards of this node's group coordinator behind one door: takes whole requests as clients send them, checks what
// needs no group, finds the shard by the group's name, splits what names groups of several shards and joins the answers.
//
//   coordinator.step(now, topics, ApiRequest{token, version, client_id, "/10.0.0.7", join_group_request});
//   for (auto& action : coordinator.take_actions()) ...   // AppendTo -> step(now, topics, AppendedTo{...}); ApiReply -> send
//
// Leadership of a partition of __consumer_offsets: BecameLeader makes a shard that is loading; the shell reads the log
// from its start to its end through loading_shard(), then steps with LoadFinished. Resigned drops it.
//
// Authorization is the caller's: groups before, topics of commits and fetches later here. Single thread, pure.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "group/shard.h"
#include "group/topics_view.h"
#include "wire/messages/delete_groups_request.h"
#include "wire/messages/describe_groups_request.h"

namespace castellan::group {

using ApiRequestBody = std::variant<wire::JoinGroupRequest, wire::SyncGroupRequest, wire::HeartbeatRequest, wire::LeaveGroupRequest,
                                    wire::OffsetCommitRequest, wire::OffsetFetchRequest, wire::OffsetDeleteRequest,
                                    wire::DescribeGroupsRequest, wire::DeleteGroupsRequest, wire::ListGroupsRequest>;
// In the same order.
using ApiResponseBody = std::variant<wire::JoinGroupResponse, wire::SyncGroupResponse, wire::HeartbeatResponse, wire::LeaveGroupResponse,
                                     wire::OffsetCommitResponse, wire::OffsetFetchResponse, wire::OffsetDeleteResponse,
                                     wire::DescribeGroupsResponse, wire::DeleteGroupsResponse, wire::ListGroupsResponse>;

struct ApiRequest {
  Token token = 0;
  int16_t version = 0;
  std::string client_id;
  std::string client_host;  // as Kafka keeps it: "/10.0.0.7"
  ApiRequestBody body;
};

struct BecameLeader {
  int32_t partition = 0;
};
struct LoadFinished {
  int32_t partition = 0;
};
// The partition's records cannot be read: it answers NOT_COORDINATOR until the node leads it anew.
struct LoadFailed {
  int32_t partition = 0;
};
struct Resigned {
  int32_t partition = 0;
};
struct AppendedTo {
  int32_t partition = 0;
  Appended appended;
};
struct CommittedIn {
  int32_t partition = 0;
  int64_t offset = 0;  // the high watermark
};

using CoordinatorInput = std::variant<ApiRequest, BecameLeader, LoadFinished, LoadFailed, Resigned, AppendedTo, CommittedIn, TopicsDeleted, Tick>;

struct AppendTo {
  int32_t partition = 0;
  uint64_t id = 0;
  std::vector<Record> records;
};
struct ApiReply {
  Token token = 0;
  ApiResponseBody response;
};
using CoordinatorAction = std::variant<AppendTo, ApiReply>;

class Coordinator {
 public:
  Coordinator(const Configuration& configuration, uint64_t seed);
  ~Coordinator();

  void step(Now now, const TopicsView& topics, CoordinatorInput input);
  std::vector<CoordinatorAction> take_actions() { return std::exchange(actions_, {}); }
  MonotonicTime next_deadline() const;

  // The shard that is to be filled with Shard::load; nullptr when the partition is not loading.
  Shard* loading_shard(int32_t partition);
  int32_t partition_for(std::string_view group) const;
  // New limits and timeouts for what comes; offsets_partitions says how many partitions __consumer_offsets has now.
  void set_configuration(const Configuration& configuration);

 private:
  struct Slot {
    enum class Stage { LOADING, ACTIVE, FAILED } stage = Stage::LOADING;
    std::unique_ptr<Shard> shard;
  };
  // A request that waits for its shards.
  struct Waiting {
    Token token = 0;
    int16_t version = 0;
    ApiResponseBody response;  // what is known of the answer
    size_t missing = 0;        // answers of shards
  };
  // An answer of a shard: whose it is, and which place in it.
  struct Part {
    uint64_t waiting = 0;
    size_t index = 0;
  };

  void on(const ApiRequest& request, const TopicsView& topics);
  void on(const BecameLeader& input, const TopicsView& topics);
  void on(const LoadFinished& input, const TopicsView& topics);
  void on(const LoadFailed& input, const TopicsView& topics);
  void on(const Resigned& input, const TopicsView& topics);
  void on(const AppendedTo& input, const TopicsView& topics);
  void on(const CommittedIn& input, const TopicsView& topics);
  void on(const TopicsDeleted& input, const TopicsView& topics);
  void on(const Tick& input, const TopicsView& topics);

  // One for each request, in routing.cc.
  void route(const ApiRequest& request, const wire::JoinGroupRequest& body, const TopicsView& topics);
  void route(const ApiRequest& request, const wire::SyncGroupRequest& body, const TopicsView& topics);
  void route(const ApiRequest& request, const wire::HeartbeatRequest& body, const TopicsView& topics);
  void route(const ApiRequest& request, const wire::LeaveGroupRequest& body, const TopicsView& topics);
  void route(const ApiRequest& request, const wire::OffsetCommitRequest& body, const TopicsView& topics);
  void route(const ApiRequest& request, const wire::OffsetFetchRequest& body, const TopicsView& topics);
  void route(const ApiRequest& request, const wire::OffsetDeleteRequest& body, const TopicsView& topics);
  void route(const ApiRequest& request, const wire::DescribeGroupsRequest& body, const TopicsView& topics);
  void route(const ApiRequest& request, const wire::DeleteGroupsRequest& body, const TopicsView& topics);
  void route(const ApiRequest& request, const wire::ListGroupsRequest& body, const TopicsView& topics);

  uint64_t begin(const ApiRequest& request, ApiResponseBody response);
  void end(uint64_t waiting);  // all parts are asked: answers when none is missing
  void ask(uint64_t waiting, const ApiRequest& request, std::string_view group, size_t index, RequestBody body);
  void ask_partition(uint64_t waiting, const ApiRequest& request, int32_t partition, size_t index, RequestBody body);
  void on_part(const TopicsView& topics, Token part, ResponseBody& response);
  void merge(Waiting& waiting, size_t index, ResponseBody& response, const TopicsView& topics);
  void merge_fetched(Waiting& waiting, size_t index, wire::OffsetFetchResponse::OffsetFetchResponseGroup& fetched, const TopicsView& topics);
  void collect(int32_t partition, Slot& slot, const TopicsView& topics);

  static constexpr int16_t version_with_groups = 8;      // of OffsetFetch
  static constexpr int16_t version_with_topic_ids = 10;  // of OffsetCommit and OffsetFetch

  Configuration configuration_;
  Prng prng_;
  Now now_;
  const TopicsView* topics_ = nullptr;  // of the step that is running
  std::map<int32_t, Slot> slots_;
  std::map<uint64_t, Waiting> waiting_;
  std::map<Token, Part> parts_;
  uint64_t next_waiting_ = 1;
  Token next_part_ = 1;
  std::vector<CoordinatorAction> actions_;
};

}  // namespace castellan::group

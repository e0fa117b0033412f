// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/coordinator.h"

#include <gtest/gtest.h>

#include "group/partitioner.h"

namespace castellan::group {
namespace {

struct Topics : TopicsView {
  std::map<std::string, std::pair<Uuid, int32_t>, std::less<>> topics{{"t", {Uuid{1, 1}, 3}}};

  std::optional<std::string> topic_name(const Uuid& id) const override {
    for (const auto& [name, topic] : topics)
      if (topic.first == id) return name;
    return std::nullopt;
  }
  Uuid topic_id(std::string_view name) const override {
    const auto found = topics.find(name);
    return found == topics.end() ? Uuid::zero() : found->second.first;
  }
  bool has_partition(std::string_view name, int32_t partition) const override {
    const auto found = topics.find(name);
    return found != topics.end() && partition >= 0 && partition < found->second.second;
  }
};

// A coordinator with 4 partitions whose appends succeed at once.
struct Node {
  Topics topics;
  Coordinator coordinator{configuration(), 42};
  Now now{{1'000'000}, {1'700'000'000'000}};
  std::map<Token, ApiResponseBody> replies;
  std::map<int32_t, int64_t> log_end;
  Token last_token = 0;

  static Configuration configuration() {
    Configuration result;
    result.offsets_partitions = 4;
    result.initial_rebalance_delay = std::chrono::milliseconds(0);
    return result;
  }

  explicit Node(bool leads = true) {
    for (int32_t i = 0; leads && i < 4; ++i) {
      step(BecameLeader{i});
      step(LoadFinished{i});
    }
  }

  void step(CoordinatorInput input) {
    coordinator.step(now, topics, std::move(input));
    for (;;) {
      auto actions = coordinator.take_actions();
      if (actions.empty()) return;
      for (auto& action : actions) {
        if (auto* reply = std::get_if<ApiReply>(&action)) {
          EXPECT_TRUE(replies.emplace(reply->token, std::move(reply->response)).second);
          continue;
        }
        const auto& append = std::get<AppendTo>(action);
        int64_t& end = log_end[append.partition];
        const int64_t base = end;
        end += static_cast<int64_t>(append.records.size());
        coordinator.step(now, topics, AppendedTo{append.partition, Appended{append.id, base}});
        coordinator.step(now, topics, CommittedIn{append.partition, end});
      }
    }
  }

  template <class R>
  R ask(ApiRequestBody body, int16_t version) {
    const Token token = ++last_token;
    step(ApiRequest{token, version, "client", "/127.0.0.1", std::move(body)});
    EXPECT_TRUE(replies.contains(token));
    return replies.contains(token) ? std::get<R>(replies.at(token)) : R{};
  }

  static wire::OffsetCommitRequest commit(const std::string& group, int16_t version, const std::string& topic, Uuid id, std::vector<int32_t> partitions) {
    wire::OffsetCommitRequest request;
    request.group_id = group;
    auto& entry = request.topics.emplace_back();
    if (version < 10) entry.name = topic;
    else entry.topic_id = id;
    for (const int32_t index : partitions) {
      auto& partition = entry.partitions.emplace_back();
      partition.partition_index = index;
      partition.committed_offset = 10 + index;
      partition.committed_metadata = "m";
    }
    return request;
  }
};

int16_t number(ErrorCode code) { return static_cast<int16_t>(code); }

TEST(Coordinator, PartitionThatIsNotHereIsNotCoordinatedAndOneThatLoadsSaysSo) {
  Node node(false);
  wire::HeartbeatRequest heartbeat;
  heartbeat.group_id = "g";
  EXPECT_EQ(node.ask<wire::HeartbeatResponse>(heartbeat, 4).error_code, number(ErrorCode::NOT_COORDINATOR));
  const int32_t partition = node.coordinator.partition_for("g");
  node.step(BecameLeader{partition});
  EXPECT_EQ(node.ask<wire::HeartbeatResponse>(heartbeat, 4).error_code, 0);  // a member waits it out
  EXPECT_EQ(node.ask<wire::ListGroupsResponse>(wire::ListGroupsRequest{}, 5).error_code, number(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
  wire::SyncGroupRequest sync;
  sync.group_id = "g";
  wire::JoinGroupRequest join;
  join.group_id = "g";
  join.session_timeout_ms = 10'000;
  const auto joined = node.ask<wire::JoinGroupResponse>(join, 9);
  EXPECT_EQ(joined.error_code, number(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
  EXPECT_EQ(joined.protocol_name, std::nullopt);
  EXPECT_EQ(node.ask<wire::SyncGroupResponse>(sync, 3).error_code, number(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
  ASSERT_NE(node.coordinator.loading_shard(partition), nullptr);
  node.step(LoadFinished{partition});
  EXPECT_EQ(node.coordinator.loading_shard(partition), nullptr);
  EXPECT_EQ(node.ask<wire::HeartbeatResponse>(heartbeat, 4).error_code, number(ErrorCode::UNKNOWN_MEMBER_ID));
  node.step(Resigned{partition});
  EXPECT_EQ(node.ask<wire::HeartbeatResponse>(heartbeat, 4).error_code, number(ErrorCode::NOT_COORDINATOR));
  node.step(BecameLeader{partition});
  node.step(LoadFailed{partition});
  EXPECT_EQ(node.ask<wire::HeartbeatResponse>(heartbeat, 4).error_code, number(ErrorCode::NOT_COORDINATOR));
  EXPECT_EQ(node.ask<wire::ListGroupsResponse>(wire::ListGroupsRequest{}, 5).error_code, 0);
}

TEST(Coordinator, EmptyGroupIdIsRefusedWhereKafkaRefusesIt) {
  Node node;
  wire::JoinGroupRequest join;
  join.member_id = "me";
  const auto joined = node.ask<wire::JoinGroupResponse>(join, 6);
  EXPECT_EQ(joined.error_code, number(ErrorCode::INVALID_GROUP_ID));
  EXPECT_EQ(joined.member_id, "me");
  EXPECT_EQ(joined.protocol_name, "");
  EXPECT_EQ(node.ask<wire::JoinGroupResponse>(join, 7).protocol_name, std::nullopt);
  EXPECT_EQ(node.ask<wire::HeartbeatResponse>(wire::HeartbeatRequest{}, 0).error_code, number(ErrorCode::INVALID_GROUP_ID));
  EXPECT_EQ(node.ask<wire::LeaveGroupResponse>(wire::LeaveGroupRequest{}, 3).error_code, number(ErrorCode::INVALID_GROUP_ID));
  EXPECT_EQ(node.ask<wire::OffsetDeleteResponse>(wire::OffsetDeleteRequest{}, 0).error_code, number(ErrorCode::INVALID_GROUP_ID));
  EXPECT_EQ(node.ask<wire::SyncGroupResponse>(wire::SyncGroupRequest{}, 4).error_code, number(ErrorCode::INVALID_GROUP_ID));
  EXPECT_EQ(node.ask<wire::SyncGroupResponse>(wire::SyncGroupRequest{}, 5).error_code, number(ErrorCode::INCONSISTENT_GROUP_PROTOCOL));
}

TEST(Coordinator, SessionTimeoutMustLieWithinTheLimits) {
  Node node;
  wire::JoinGroupRequest join;
  join.group_id = "g";
  for (const int32_t timeout : {-1, 1, 5'999, 1'800'001}) {
    join.session_timeout_ms = timeout;
    EXPECT_EQ(node.ask<wire::JoinGroupResponse>(join, 9).error_code, number(ErrorCode::INVALID_SESSION_TIMEOUT)) << timeout;
  }
}

TEST(Coordinator, LeaveBeforeVersionThreeHasOneError) {
  Node node;
  wire::LeaveGroupRequest leave;
  leave.group_id = "g";
  leave.member_id = "nobody";
  const auto old = node.ask<wire::LeaveGroupResponse>(leave, 2);
  EXPECT_EQ(old.error_code, number(ErrorCode::UNKNOWN_MEMBER_ID));
  EXPECT_TRUE(old.members.empty());
  leave.members.emplace_back().member_id = "nobody";
  const auto now = node.ask<wire::LeaveGroupResponse>(leave, 3);
  EXPECT_EQ(now.error_code, 0);
  EXPECT_EQ(now.members.at(0).error_code, number(ErrorCode::UNKNOWN_MEMBER_ID));
}

TEST(Coordinator, CommitNamesUnknownTopicsAndPartitionsAndTakesTheRest) {
  Node node;
  const auto mixed = node.ask<wire::OffsetCommitResponse>(Node::commit("g", 9, "t", {}, {0, 9, 2}), 9);
  ASSERT_EQ(mixed.topics.size(), 1u);
  ASSERT_EQ(mixed.topics[0].partitions.size(), 3u);
  EXPECT_EQ(mixed.topics[0].partitions[0].partition_index, 9);
  EXPECT_EQ(mixed.topics[0].partitions[0].error_code, number(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(mixed.topics[0].partitions[1].error_code, 0);
  const auto unknown = node.ask<wire::OffsetCommitResponse>(Node::commit("g", 9, "none", {}, {0}), 9);
  EXPECT_EQ(unknown.topics.at(0).partitions.at(0).error_code, number(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  const auto by_id = node.ask<wire::OffsetCommitResponse>(Node::commit("g", 10, "", Uuid{1, 1}, {0}), 10);
  EXPECT_EQ(by_id.topics.at(0).topic_id, (Uuid{1, 1}));
  EXPECT_EQ(by_id.topics.at(0).partitions.at(0).error_code, 0);
  const auto unknown_id = node.ask<wire::OffsetCommitResponse>(Node::commit("g", 10, "", Uuid{7, 7}, {0}), 10);
  EXPECT_EQ(unknown_id.topics.at(0).topic_id, (Uuid{7, 7}));
  EXPECT_EQ(unknown_id.topics.at(0).partitions.at(0).error_code, number(ErrorCode::UNKNOWN_TOPIC_ID));
  EXPECT_TRUE(node.ask<wire::OffsetCommitResponse>(wire::OffsetCommitRequest{}, 9).topics.empty());
}

TEST(Coordinator, FetchHasTheFormOfItsVersion) {
  Node node;
  node.ask<wire::OffsetCommitResponse>(Node::commit("g", 9, "t", {}, {0, 1}), 9);
  wire::OffsetFetchRequest single;
  single.group_id = "g";
  single.topics.reset();
  const auto old = node.ask<wire::OffsetFetchResponse>(single, 7);
  EXPECT_TRUE(old.groups.empty());
  ASSERT_EQ(old.topics.size(), 1u);
  EXPECT_EQ(old.topics[0].partitions.at(1).committed_offset, 11);

  wire::OffsetFetchRequest batched;
  for (const std::string group : {"g", "never"}) {
    auto& entry = batched.groups.emplace_back();
    entry.group_id = group;
    auto& topic = entry.topics.emplace().emplace_back();
    topic.name = "t";
    topic.partition_indexes = {0, 9};
  }
  const auto now = node.ask<wire::OffsetFetchResponse>(batched, 8);
  EXPECT_TRUE(now.topics.empty());
  ASSERT_EQ(now.groups.size(), 2u);
  EXPECT_EQ(now.groups[0].group_id, "g");
  EXPECT_EQ(now.groups[0].topics.at(0).partitions.at(0).committed_offset, 10);
  EXPECT_EQ(now.groups[0].topics.at(0).partitions.at(1).committed_offset, -1);
  EXPECT_EQ(now.groups[1].topics.at(0).partitions.at(0).committed_offset, -1);
  EXPECT_EQ(now.groups[1].error_code, 0);
  EXPECT_TRUE(node.ask<wire::OffsetFetchResponse>(wire::OffsetFetchRequest{}, 8).groups.empty());
}

TEST(Coordinator, FetchByTopicIdNamesUnknownIds) {
  Node node;
  node.ask<wire::OffsetCommitResponse>(Node::commit("g", 9, "t", {}, {0}), 9);
  wire::OffsetFetchRequest request;
  auto& group = request.groups.emplace_back();
  group.group_id = "g";
  group.topics.emplace().resize(2);
  (*group.topics)[0].topic_id = Uuid{7, 7};
  (*group.topics)[0].partition_indexes = {0};
  (*group.topics)[1].topic_id = Uuid{1, 1};
  (*group.topics)[1].partition_indexes = {0};
  const auto answer = node.ask<wire::OffsetFetchResponse>(request, 10);
  ASSERT_EQ(answer.groups.at(0).topics.size(), 2u);
  EXPECT_EQ(answer.groups[0].topics[0].topic_id, (Uuid{1, 1}));
  EXPECT_EQ(answer.groups[0].topics[0].partitions.at(0).committed_offset, 10);
  EXPECT_EQ(answer.groups[0].topics[1].topic_id, (Uuid{7, 7}));
  EXPECT_EQ(answer.groups[0].topics[1].partitions.at(0).error_code, number(ErrorCode::UNKNOWN_TOPIC_ID));

  group.topics.reset();
  EXPECT_EQ(node.ask<wire::OffsetFetchResponse>(request, 10).groups.at(0).topics.at(0).topic_id, (Uuid{1, 1}));
  node.topics.topics.clear();
  EXPECT_TRUE(node.ask<wire::OffsetFetchResponse>(request, 10).groups.at(0).topics.empty());  // the topic is gone
}

TEST(Coordinator, ErrorOfAnOldFetchIsWithEachPartitionInVersionOneAlone) {
  Node node(false);
  wire::OffsetFetchRequest request;
  request.group_id = "g";
  auto& topic = request.topics.emplace().emplace_back();
  topic.name = "t";
  topic.partition_indexes = {0};
  const auto first = node.ask<wire::OffsetFetchResponse>(request, 1);
  EXPECT_EQ(first.topics.at(0).partitions.at(0).error_code, number(ErrorCode::NOT_COORDINATOR));
  const auto second = node.ask<wire::OffsetFetchResponse>(request, 2);
  EXPECT_EQ(second.error_code, number(ErrorCode::NOT_COORDINATOR));
  EXPECT_TRUE(second.topics.empty());
}

TEST(Coordinator, GroupsOfSeveralPartitionsAreListedDescribedAndDeletedTogether) {
  Node node;
  std::vector<std::string> names{"a", "b", "c", "d", "e"};
  std::set<int32_t> partitions;
  for (const auto& name : names) {
    node.ask<wire::OffsetCommitResponse>(Node::commit(name, 9, "t", {}, {0}), 9);
    partitions.insert(node.coordinator.partition_for(name));
  }
  EXPECT_GT(partitions.size(), 1u);
  EXPECT_EQ(node.ask<wire::ListGroupsResponse>(wire::ListGroupsRequest{}, 5).groups.size(), 5u);

  wire::DescribeGroupsRequest describe;
  describe.groups = {"b", "never", "a"};
  describe.include_authorized_operations = true;
  const auto described = node.ask<wire::DescribeGroupsResponse>(describe, 6);
  ASSERT_EQ(described.groups.size(), 3u);
  EXPECT_EQ(described.groups[0].group_id, "b");
  EXPECT_EQ(described.groups[0].authorized_operations, 3400);
  EXPECT_EQ(described.groups[1].error_code, number(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_EQ(described.groups[1].authorized_operations, INT32_MIN);
  describe.include_authorized_operations = false;
  EXPECT_EQ(node.ask<wire::DescribeGroupsResponse>(describe, 6).groups[0].authorized_operations, INT32_MIN);

  wire::DeleteGroupsRequest remove;
  remove.groups_names = {"a", "never", "a", ""};
  const auto removed = node.ask<wire::DeleteGroupsResponse>(remove, 2);
  ASSERT_EQ(removed.results.size(), 3u);
  EXPECT_EQ(removed.results[0].error_code, 0);
  EXPECT_EQ(removed.results[1].error_code, number(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_EQ(removed.results[2].error_code, number(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_EQ(node.ask<wire::ListGroupsResponse>(wire::ListGroupsRequest{}, 5).groups.size(), 4u);
}

TEST(Coordinator, OffsetDeleteNamesUnknownTopicsAndTheGroupsErrorCountsMore) {
  Node node;
  node.ask<wire::OffsetCommitResponse>(Node::commit("g", 9, "t", {}, {0}), 9);
  wire::OffsetDeleteRequest request;
  request.group_id = "g";
  request.topics.resize(2);
  request.topics[0].name = "none";
  request.topics[0].partitions.resize(1);
  request.topics[1].name = "t";
  request.topics[1].partitions.resize(2);
  request.topics[1].partitions[1].partition_index = 9;
  const auto answer = node.ask<wire::OffsetDeleteResponse>(request, 0);
  ASSERT_EQ(answer.topics.size(), 2u);
  EXPECT_EQ(answer.topics[0].partitions.at(0).error_code, number(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(answer.topics[1].partitions.at(0).error_code, number(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(answer.topics[1].partitions.at(1).error_code, 0);
  request.group_id = "never";
  const auto unknown = node.ask<wire::OffsetDeleteResponse>(request, 0);
  EXPECT_EQ(unknown.error_code, number(ErrorCode::GROUP_ID_NOT_FOUND));
  EXPECT_TRUE(unknown.topics.empty());
}

TEST(Coordinator, ResultsOfALeadershipThatIsOverAreIgnored) {
  Node node;
  const int32_t partition = node.coordinator.partition_for("g");
  node.step(Resigned{partition});
  node.step(AppendedTo{partition, Appended{1, 0}});
  node.step(CommittedIn{partition, 5});
  node.step(LoadFinished{partition});
  EXPECT_EQ(node.coordinator.next_deadline() == MonotonicTime::never(), false);  // the other partitions' retention checks
}

}  // namespace
}  // namespace castellan::group

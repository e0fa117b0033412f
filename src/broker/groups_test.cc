// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The shell of the group coordinator: what clients commit is in the log before they hear of it, and there again after a
// restart. The coordinator's own rules are tested in group/.

#include "broker/groups.h"

#include <gtest/gtest.h>

#include "broker/names.h"
#include "broker/test_broker.h"
#include "wire/messages/find_coordinator_request.h"
#include "wire/messages/find_coordinator_response.h"
#include "wire/messages/offset_fetch_request.h"

namespace castellan::broker {
namespace {

wire::OffsetCommitRequest commit(const std::string& group, int64_t offset) {
  wire::OffsetCommitRequest request;
  request.group_id = group;
  request.topics.push_back({.name = "t", .partitions = {{.partition_index = 0, .committed_offset = offset}}});
  return request;
}

int64_t committed(TestBroker& test, const std::string& group) {
  wire::OffsetFetchRequest ask;
  auto& asked = ask.groups.emplace_back();
  asked.group_id = group;
  asked.topics.emplace().push_back({.name = "t", .partition_indexes = {0}});
  const auto response = test.call<wire::OffsetFetchResponse>(ask, 8);
  return response.groups.at(0).topics.at(0).partitions.at(0).committed_offset;
}

ErrorCode error_of(const wire::OffsetCommitResponse& response) { return static_cast<ErrorCode>(response.topics.at(0).partitions.at(0).error_code); }

TEST(Groups, the_first_question_for_a_coordinator_makes_the_offsets_topic) {
  TestBroker test;
  test.start();
  wire::FindCoordinatorRequest ask;
  ask.coordinator_keys = {"g"};
  test.controller.requests.clear();
  EXPECT_EQ(test.call<wire::FindCoordinatorResponse>(ask, 4).coordinators.at(0).error_code, static_cast<int16_t>(ErrorCode::COORDINATOR_NOT_AVAILABLE));
  EXPECT_EQ(std::ranges::count(test.controller.requests, 19, &ControllerRequest::api_key), 1);
  test.create_topic(std::string(offsets_topic), 2, {{"cleanup.policy", "compact"}});
  const auto found = test.call<wire::FindCoordinatorResponse>(ask, 4).coordinators.at(0);
  EXPECT_EQ(found.error_code, 0);
  EXPECT_EQ(found.node_id, 1);
  EXPECT_EQ(found.port, 9092);
}

TEST(Groups, without_the_offsets_topic_nobody_is_the_coordinator) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  EXPECT_EQ(error_of(test.call<wire::OffsetCommitResponse>(commit("g", 5), 8)), ErrorCode::NOT_COORDINATOR);
}

TEST(Groups, committed_offsets_are_there_after_a_restart_with_or_without_a_clean_stop) {
  for (const bool clean : {true, false}) {
    auto disk = std::make_shared<io::MemoryFileSystem>();
    image::Image metadata;
    {
      TestBroker test({}, disk);
      test.start();
      test.create_topic("t", 1);
      test.create_topic(std::string(offsets_topic), 2, {{"cleanup.policy", "compact"}});
      for (const auto group : {"a", "b", "c"}) EXPECT_EQ(error_of(test.call<wire::OffsetCommitResponse>(commit(group, 7), 8)), ErrorCode::NONE);
      EXPECT_EQ(error_of(test.call<wire::OffsetCommitResponse>(commit("b", 9), 8)), ErrorCode::NONE);
      metadata = test.image;
      if (clean) {
        test.broker->begin_shutdown([] {});
        test.loop.run();
      }
    }
    TestBroker test({}, disk);
    test.image = metadata;
    test.start();
    EXPECT_EQ(committed(test, "a"), 7) << clean;
    EXPECT_EQ(committed(test, "b"), 9) << clean;
    EXPECT_EQ(committed(test, "c"), 7) << clean;
    EXPECT_EQ(committed(test, "none"), -1) << clean;
  }
}

TEST(Groups, a_commit_that_the_disk_refuses_is_not_acknowledged) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  test.create_topic(std::string(offsets_topic), 2, {{"cleanup.policy", "compact"}});
  test.files->set_capacity(1);
  EXPECT_NE(error_of(test.call<wire::OffsetCommitResponse>(commit("g", 5), 8)), ErrorCode::NONE);
}

TEST(Groups, offsets_of_a_topic_that_is_deleted_go_with_it) {
  TestBroker test;
  test.start();
  const auto id = test.create_topic("t", 1);
  test.create_topic(std::string(offsets_topic), 2, {{"cleanup.policy", "compact"}});
  test.call<wire::OffsetCommitResponse>(commit("g", 5), 8);
  test.delete_topic(id);
  test.create_topic("t", 1);
  EXPECT_EQ(committed(test, "g"), -1);
}

TEST(Groups, a_member_that_joins_hears_of_it_when_its_group_is_complete) {
  TestBroker test;
  test.start();
  test.create_topic(std::string(offsets_topic), 2, {{"cleanup.policy", "compact"}});
  wire::JoinGroupRequest join;
  join.group_id = "g";
  join.session_timeout_ms = 10'000;
  join.rebalance_timeout_ms = 10'000;
  join.protocol_type = "consumer";
  join.protocols.push_back({.name = "range", .metadata = {1}});
  const auto first = test.call<wire::JoinGroupResponse>(join, 7);
  EXPECT_EQ(first.error_code, static_cast<int16_t>(ErrorCode::MEMBER_ID_REQUIRED));
  join.member_id = first.member_id;
  const auto request = test.send(join, 7);
  test.pass(std::chrono::milliseconds(1));
  const auto joined = TestBroker::read<wire::JoinGroupResponse>(*request);
  EXPECT_EQ(joined.generation_id, 1);
  EXPECT_EQ(joined.leader, joined.member_id);
}

}  // namespace
}  // namespace castellan::broker

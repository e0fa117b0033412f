// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/topics.h"

#include <gtest/gtest.h>

#include "controller/testing.h"
#include "wire/messages/create_partitions_request.h"
#include "wire/messages/create_partitions_response.h"
#include "wire/messages/delete_topics_request.h"
#include "wire/messages/delete_topics_response.h"

namespace castellan::controller {
namespace {

int16_t code(ErrorCode error) { return number(error); }

struct ThreeBrokers : TestCluster {
  explicit ThreeBrokers(image::FeatureLevels levels = {{"metadata.version", 33}}, const config::ConfigMap& more = {}) : TestCluster(std::move(levels), more) {
    for (int32_t id : {1, 2, 3}) add_broker(id);
  }
};

TEST(CreateTopics, WritesTheTopicItsConfigsAndItsPartitions) {
  ThreeBrokers cluster;
  const auto result = cluster.create_topic("orders", 2, 3, {}, {{"retention.ms", "1000"}});
  EXPECT_EQ(result.error_code, 0);
  EXPECT_FALSE(result.error_message.has_value());
  EXPECT_EQ(result.num_partitions, 2);
  EXPECT_EQ(result.replication_factor, 3);
  EXPECT_TRUE(cluster.last.atomic);
  EXPECT_EQ(names(cluster.last.records), (Names{"TopicRecord", "ConfigRecord", "PartitionRecord", "PartitionRecord"}));
  EXPECT_EQ(cluster.image.topics.by_name("orders")->id.value, result.topic_id);
  EXPECT_EQ(cluster.image.configs.of_topic("orders").at("retention.ms"), "1000");
  const image::Partition& first = cluster.partition("orders");
  EXPECT_EQ(ids(first.isr()), ids(first.replicas()));
  EXPECT_EQ(first.leader(), first.replicas()[0]);
  EXPECT_EQ(first.leader_epoch(), Epoch{0});
  EXPECT_EQ(first.directory(0), DirectoryId(Uuid(1000, static_cast<uint64_t>(first.replicas()[0].value))));
  const auto retention = std::ranges::find(*result.configs, "retention.ms", [](const auto& c) { return c.name; });
  ASSERT_NE(retention, result.configs->end());
  EXPECT_EQ(retention->value, "1000");
  EXPECT_EQ(retention->config_source, 1);
}

TEST(CreateTopics, OnlyActiveBrokersAreInSync) {
  ThreeBrokers cluster;
  cluster.fence(2);
  cluster.create_assigned("t", {{2, 3, 1}});
  EXPECT_EQ(ids(cluster.partition("t").replicas()), (Ids{2, 3, 1}));
  EXPECT_EQ(ids(cluster.partition("t").isr()), (Ids{3, 1}));
  EXPECT_EQ(cluster.partition("t").leader(), NodeId{3});
}

TEST(CreateTopics, RefusalsHaveTheirCodesAndWriteNothing) {
  ThreeBrokers cluster;
  cluster.create_topic("taken.name", 1, 1);
  const auto refused = [&](const auto& result) {
    EXPECT_TRUE(cluster.last.records.empty());
    EXPECT_EQ(result.num_partitions, -1);
    return result.error_code;
  };
  EXPECT_EQ(refused(cluster.create_topic("taken.name", 1, 1)), code(ErrorCode::TOPIC_ALREADY_EXISTS));
  EXPECT_EQ(refused(cluster.create_topic("taken_name", 1, 1)), code(ErrorCode::INVALID_TOPIC_EXCEPTION));
  for (const std::string& name : std::vector<std::string>{"", ".", "..", "a b", std::string(250, 'x')})
    EXPECT_EQ(refused(cluster.create_topic(name, 1, 1)), code(ErrorCode::INVALID_TOPIC_EXCEPTION)) << name;
  EXPECT_EQ(refused(cluster.create_topic("__cluster_metadata", 1, 1)), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(refused(cluster.create_topic("t", 0, 1)), code(ErrorCode::INVALID_PARTITIONS));
  EXPECT_EQ(refused(cluster.create_topic("t", -2, 1)), code(ErrorCode::INVALID_PARTITIONS));
  EXPECT_EQ(refused(cluster.create_topic("t", 1, 0)), code(ErrorCode::INVALID_REPLICATION_FACTOR));
  EXPECT_EQ(refused(cluster.create_topic("t", 1, 4)), code(ErrorCode::INVALID_REPLICATION_FACTOR));
  EXPECT_EQ(refused(cluster.create_topic("t", 1, 1, {}, {{"retention.ms", "soon"}})), code(ErrorCode::INVALID_CONFIG));
  EXPECT_EQ(refused(cluster.create_topic("t", 1, 1, {}, {{"no.such.key", "1"}})), code(ErrorCode::INVALID_CONFIG));
  EXPECT_EQ(refused(cluster.create_topic("t", 1, -1, {{1}})), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(refused(cluster.create_topic("t", -1, 1, {{1}})), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(refused(cluster.create_assigned("t", {{}})), code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
  EXPECT_EQ(refused(cluster.create_assigned("t", {{9}})), code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
  EXPECT_EQ(refused(cluster.create_assigned("t", {{1, 1}})), code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
  EXPECT_EQ(refused(cluster.create_assigned("t", {{1, 2}, {1}})), code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
  EXPECT_EQ(refused(cluster.create_topic("t", 10'001, 1)), code(ErrorCode::POLICY_VIOLATION));
  for (int32_t id : {1, 2, 3}) cluster.fence(id);
  EXPECT_EQ(refused(cluster.create_topic("t", 1, 1)), code(ErrorCode::INVALID_REPLICATION_FACTOR));
  EXPECT_EQ(refused(cluster.create_assigned("t", {{1}})), code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
}

TEST(CreateTopics, AssignmentsMustCountFromZero) {
  ThreeBrokers cluster;
  wire::CreateTopicsRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = "t";
  topic.num_partitions = -1;
  topic.replication_factor = -1;
  for (int32_t index : {0, 2}) {
    auto& assignment = topic.assignments.emplace_back();
    assignment.partition_index = index;
    assignment.broker_ids = {1};
  }
  EXPECT_EQ(cluster.call<wire::CreateTopicsResponse>(request).topics[0].error_code, code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
  request.topics[0].assignments[1].partition_index = 0;
  EXPECT_EQ(cluster.call<wire::CreateTopicsResponse>(request).topics[0].error_code, code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
}

TEST(CreateTopics, DefaultsComeFromTheConfiguration) {
  ThreeBrokers cluster({{"metadata.version", 33}}, {{"num.partitions", "5"}, {"default.replication.factor", "2"}});
  const auto result = cluster.create_topic("t", -1, -1);
  EXPECT_EQ(result.num_partitions, 5);
  EXPECT_EQ(result.replication_factor, 2);
}

TEST(CreateTopics, ValidateOnlyWritesNothingAndSaysWhatWouldBe) {
  ThreeBrokers cluster;
  wire::CreateTopicsRequest request;
  request.validate_only = true;
  auto& topic = request.topics.emplace_back();
  topic.name = "t";
  topic.num_partitions = 4;
  topic.replication_factor = 1;
  EXPECT_EQ(cluster.call<wire::CreateTopicsResponse>(request).topics[0].num_partitions, 4);
  EXPECT_TRUE(cluster.last.records.empty());
}

TEST(CreateTopics, ANameThatComesTwiceIsAnsweredOnceAndTheOthersAreMade) {
  ThreeBrokers cluster;
  wire::CreateTopicsRequest request;
  for (const char* name : {"twice", "once", "twice"}) {
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    topic.num_partitions = 1;
    topic.replication_factor = 1;
  }
  const auto response = cluster.call<wire::CreateTopicsResponse>(request);
  ASSERT_EQ(response.topics.size(), 2u);
  EXPECT_EQ(response.topics[0].name, "once");
  EXPECT_EQ(response.topics[0].error_code, 0);
  EXPECT_EQ(response.topics[1].error_code, code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(cluster.image.topics.by_id.size(), 1u);
}

TEST(CreateTopics, ARequestThatWouldNotFitIntoOneBatchIsRefused) {
  ThreeBrokers cluster;
  wire::CreateTopicsRequest request;
  for (int i = 0; i < 6000; ++i) {
    auto& topic = request.topics.emplace_back();
    topic.name = fmt::format("t{}", i);
    topic.num_partitions = 1;
    topic.replication_factor = 1;
  }
  const auto response = cluster.call<wire::CreateTopicsResponse>(request);
  ASSERT_EQ(response.topics.size(), 6000u);
  for (const auto& topic : response.topics) ASSERT_EQ(topic.error_code, code(ErrorCode::POLICY_VIOLATION));
  EXPECT_TRUE(cluster.last.records.empty());
}

TEST(CreateTopics, WhoMayNotCreateIsToldSo) {
  ThreeBrokers cluster;
  cluster.access = [](AclOperation operation, AclResourceType type, std::string_view name) {
    return type == AclResourceType::TOPIC && operation == AclOperation::CREATE && name == "mine";
  };
  EXPECT_EQ(cluster.create_topic("theirs", 1, 1).error_code, code(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
  const auto mine = cluster.create_topic("mine", 1, 1);
  EXPECT_EQ(mine.error_code, 0);
  EXPECT_EQ(mine.topic_config_error_code, code(ErrorCode::TOPIC_AUTHORIZATION_FAILED)) << "may not read its configs";
  EXPECT_EQ(mine.num_partitions, -1);
  EXPECT_TRUE(mine.configs->empty());
}

TEST(CreateTopics, NoTimeToWaitIsATimeout) {
  ThreeBrokers cluster;
  wire::CreateTopicsRequest request;
  request.timeout_ms = 0;
  EXPECT_TRUE(cluster.call<wire::CreateTopicsResponse>(request).topics.empty()) << "asks for nothing";
  auto& topic = request.topics.emplace_back();
  topic.name = "t";
  topic.num_partitions = topic.replication_factor = 1;
  EXPECT_EQ(cluster.call<wire::CreateTopicsResponse>(request).topics[0].error_code, code(ErrorCode::REQUEST_TIMED_OUT));
  EXPECT_TRUE(cluster.last.records.empty());
}

TEST(DeleteTopics, ByNameAndById) {
  ThreeBrokers cluster;
  const Uuid a = cluster.create_topic("a", 3, 1).topic_id;
  cluster.create_topic("b", 1, 1, {}, {{"retention.ms", "5"}});
  wire::DeleteTopicsRequest request;
  request.timeout_ms = 1000;
  request.topics.emplace_back().topic_id = a;
  request.topics.emplace_back().name = "b";
  request.topics.emplace_back().name = "missing";
  request.topics.emplace_back().topic_id = Uuid{4, 4};
  request.topics.emplace_back();
  request.topics.emplace_back().name = "x";
  request.topics.back().topic_id = Uuid{5, 5};
  const auto response = cluster.call<wire::DeleteTopicsResponse>(request);
  EXPECT_TRUE(cluster.image.topics.by_id.empty());
  EXPECT_TRUE(cluster.image.configs.resources.empty());
  std::multiset<int16_t> codes;
  for (const auto& each : response.responses) codes.insert(each.error_code);
  EXPECT_EQ(codes, (std::multiset<int16_t>{0, 0, 3, 100, 42, 42}));
  for (const auto& each : response.responses) {
    if (each.error_code == 0) {
      EXPECT_TRUE(each.name == "a" || each.name == "b");
      EXPECT_FALSE(each.error_message.has_value());
    }
  }
}

TEST(DeleteTopics, ATopicThatIsNamedTwiceStays) {
  ThreeBrokers cluster;
  const Uuid a = cluster.create_topic("a", 1, 1).topic_id;
  wire::DeleteTopicsRequest request;
  request.timeout_ms = 1000;
  request.topics.emplace_back().topic_id = a;
  request.topics.emplace_back().name = "a";
  request.topics.emplace_back().name = "b";
  request.topics.emplace_back().name = "b";
  const auto response = cluster.call<wire::DeleteTopicsResponse>(request);
  EXPECT_EQ(response.responses.size(), 2u);
  for (const auto& each : response.responses) EXPECT_EQ(each.error_code, code(ErrorCode::INVALID_REQUEST));
  EXPECT_TRUE(cluster.last.records.empty());
}

TEST(DeleteTopics, NamesOfTopicsThatOneMayNotSeeStayHidden) {
  ThreeBrokers cluster;
  const Uuid a = cluster.create_topic("a", 1, 1).topic_id;
  const Uuid b = cluster.create_topic("b", 1, 1).topic_id;
  cluster.access = [](AclOperation operation, AclResourceType, std::string_view name) { return operation == AclOperation::DESCRIBE && name == "b"; };
  wire::DeleteTopicsRequest request;
  request.timeout_ms = 1000;
  request.topics.emplace_back().topic_id = a;
  request.topics.emplace_back().topic_id = b;
  for (const auto& each : cluster.call<wire::DeleteTopicsResponse>(request).responses) {
    EXPECT_EQ(each.error_code, code(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    EXPECT_EQ(each.name.has_value(), each.topic_id == b);
  }
}

TEST(DeleteTopics, CanBeSwitchedOff) {
  ThreeBrokers cluster({{"metadata.version", 33}}, {{"delete.topic.enable", "false"}});
  cluster.create_topic("a", 1, 1);
  wire::DeleteTopicsRequest request;
  request.timeout_ms = 1000;
  request.topics.emplace_back().name = "a";
  EXPECT_EQ(cluster.call<wire::DeleteTopicsResponse>(request).responses[0].error_code, code(ErrorCode::TOPIC_DELETION_DISABLED));
  wire::DeleteTopicsRequest old;
  old.timeout_ms = 1000;
  old.topic_names = {"a"};
  EXPECT_EQ(cluster.call<wire::DeleteTopicsResponse>(old, 2).responses[0].error_code, code(ErrorCode::INVALID_REQUEST));
}

wire::CreatePartitionsRequest more_partitions(const std::string& name, int32_t count) {
  wire::CreatePartitionsRequest request;
  request.timeout_ms = 1000;
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.count = count;
  topic.assignments.reset();
  return request;
}

TEST(CreatePartitions, AddsUpToTheCount) {
  ThreeBrokers cluster;
  cluster.create_topic("t", 1, 2);
  EXPECT_EQ(cluster.call<wire::CreatePartitionsResponse>(more_partitions("t", 3)).results[0].error_code, 0);
  EXPECT_EQ(names(cluster.last.records), (Names{"PartitionRecord", "PartitionRecord"}));
  EXPECT_EQ(cluster.image.topics.by_name("t")->partitions.size(), 3u);
  EXPECT_EQ(cluster.partition("t", 2).replicas().size(), 2u);
}

TEST(CreatePartitions, RefusalsHaveTheirCodes) {
  ThreeBrokers cluster;
  cluster.create_topic("t", 2, 2);
  const auto refused = [&](const wire::CreatePartitionsRequest& request) {
    const auto response = cluster.call<wire::CreatePartitionsResponse>(request);
    EXPECT_TRUE(cluster.last.records.empty());
    return response.results.at(0).error_code;
  };
  EXPECT_EQ(refused(more_partitions("t", 2)), code(ErrorCode::INVALID_PARTITIONS));
  EXPECT_EQ(refused(more_partitions("t", 1)), code(ErrorCode::INVALID_PARTITIONS));
  EXPECT_EQ(refused(more_partitions("missing", 3)), code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(refused(more_partitions("t", 20'000)), code(ErrorCode::POLICY_VIOLATION));
  auto manual = more_partitions("t", 3);
  manual.topics[0].assignments.emplace();
  EXPECT_EQ(refused(manual), code(ErrorCode::INVALID_REPLICA_ASSIGNMENT)) << "none for the one that is added";
  manual.topics[0].assignments->emplace_back().broker_ids = {1};
  EXPECT_EQ(refused(manual), code(ErrorCode::INVALID_REPLICA_ASSIGNMENT)) << "another replication factor";
  auto twice = more_partitions("t", 3);
  twice.topics.push_back(twice.topics[0]);
  EXPECT_EQ(refused(twice), code(ErrorCode::INVALID_REQUEST));
  auto dry = more_partitions("t", 3);
  dry.validate_only = true;
  EXPECT_EQ(refused(dry), 0);
  cluster.access = [](auto, auto, auto) { return false; };
  EXPECT_EQ(refused(more_partitions("t", 3)), code(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
}

TEST(MutationQuota, LimitsWhatOneClientChangesInAllThreeRequests) {
  ThreeBrokers cluster;
  const auto exceeded = code(ErrorCode::THROTTLING_QUOTA_EXCEEDED);
  cluster.image.client_quotas.set({{"user", "ANONYMOUS"}}, image::Quotas{{"controller_mutation_rate", 1.0}});  // 11 at once
  EXPECT_EQ(cluster.create_topic("a", 12, 1).error_code, 0) << "overdrawn once";
  const auto refused = cluster.create_topic("b", 1, 1);
  EXPECT_EQ(refused.error_code, exceeded);
  EXPECT_TRUE(cluster.last.records.empty());
  EXPECT_EQ(cluster.last.reply.as<wire::CreateTopicsResponse>().throttle_time_ms, 1000);
  const auto more = cluster.call<wire::CreatePartitionsResponse>(wire::CreatePartitionsRequest{.topics = {{.name = "a", .count = 13, .assignments = std::nullopt}}, .timeout_ms = 1000});
  EXPECT_EQ(more.results.at(0).error_code, exceeded);
  EXPECT_EQ(more.throttle_time_ms, 1000);
  wire::DeleteTopicsRequest remove;
  remove.timeout_ms = 1000;
  remove.topics.push_back({.name = "a"});
  EXPECT_EQ(cluster.call<wire::DeleteTopicsResponse>(remove).responses.at(0).error_code, exceeded);
  cluster.advance(std::chrono::seconds(1));
  EXPECT_EQ(cluster.call<wire::DeleteTopicsResponse>(remove).responses.at(0).error_code, 0);
  EXPECT_EQ(cluster.create_topic("b", 1, 1).error_code, exceeded) << "the 12 that were deleted count";
}

TEST(MutationQuota, OlderVersionsAreServedAndToldToWait) {
  ThreeBrokers cluster;
  cluster.image.client_quotas.set({{"client-id", std::nullopt}}, image::Quotas{{"controller_mutation_rate", 1.0}});
  const auto create = [&](const char* name) {
    wire::CreateTopicsRequest request;
    request.topics.push_back({.name = name, .num_partitions = 11, .replication_factor = 1});
    return cluster.call<wire::CreateTopicsResponse>(request, 5);
  };
  EXPECT_EQ(create("a").throttle_time_ms, 0);
  const auto second = create("b");
  EXPECT_EQ(second.topics.at(0).error_code, 0);
  EXPECT_EQ(second.throttle_time_ms, 11'000);
}

}  // namespace
}  // namespace castellan::controller

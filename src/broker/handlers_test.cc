// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the handlers of metadata, offsets and configurations answer, error by error. The whole of it, in every version, is
// compared with recordings of Apache Kafka elsewhere; here are the promises one by one.

#include <gtest/gtest.h>

#include "broker/names.h"
#include "broker/test_broker.h"
#include "wire/messages/alter_configs_request.h"
#include "wire/messages/alter_configs_response.h"
#include "wire/messages/api_versions_request.h"
#include "wire/messages/api_versions_response.h"
#include "wire/messages/delete_records_request.h"
#include "wire/messages/delete_records_response.h"
#include "wire/messages/describe_cluster_request.h"
#include "wire/messages/describe_cluster_response.h"
#include "wire/messages/describe_configs_request.h"
#include "wire/messages/describe_configs_response.h"
#include "wire/messages/describe_topic_partitions_request.h"
#include "wire/messages/describe_topic_partitions_response.h"
#include "wire/messages/find_coordinator_request.h"
#include "wire/messages/find_coordinator_response.h"
#include "wire/messages/incremental_alter_configs_request.h"
#include "wire/messages/incremental_alter_configs_response.h"
#include "wire/messages/list_offsets_request.h"
#include "wire/messages/list_offsets_response.h"
#include "wire/messages/metadata_request.h"
#include "wire/messages/metadata_response.h"
#include "wire/messages/offset_for_leader_epoch_request.h"
#include "wire/messages/offset_for_leader_epoch_response.h"

namespace castellan::broker {
namespace {

ErrorCode code(int16_t number) { return static_cast<ErrorCode>(number); }

class HandlersTest : public testing::Test {
 protected:
  void SetUp() override { test_.start(); }
  TestBroker test_;
};

TEST_F(HandlersTest, api_versions_answers_an_unknown_version_in_version_0_with_its_own_range) {
  wire::ApiVersionsRequest ask;
  auto request = std::make_shared<TestRequest>(wire::ApiVersionsRequest::info(), &ask, int16_t{0});
  request->start_.version = 99;
  request->start_.version_supported = false;
  test_.broker->handle(request);
  request->start_.version = 0;
  const auto response = TestBroker::read<wire::ApiVersionsResponse>(*request);
  EXPECT_EQ(code(response.error_code), ErrorCode::UNSUPPORTED_VERSION);
  ASSERT_EQ(response.api_keys.size(), 1u);
  EXPECT_EQ(response.api_keys[0].api_key, 18);
}

TEST_F(HandlersTest, api_versions_refuses_names_that_metrics_cannot_carry_and_another_cluster) {
  wire::ApiVersionsRequest ask;
  ask.client_software_name = "bad name";
  ask.client_software_version = "1";
  EXPECT_EQ(code(test_.call<wire::ApiVersionsResponse>(ask, 3).error_code), ErrorCode::INVALID_REQUEST);
  ask.client_software_name = "good-name.x";
  EXPECT_EQ(code(test_.call<wire::ApiVersionsResponse>(ask, 3).error_code), ErrorCode::NONE);
  ask.cluster_id = "another";
  ask.node_id = 1;
  EXPECT_EQ(code(test_.call<wire::ApiVersionsResponse>(ask, 5).error_code), ErrorCode::REBOOTSTRAP_REQUIRED);
  ask.node_id = -1;
  EXPECT_EQ(code(test_.call<wire::ApiVersionsResponse>(ask, 5).error_code), ErrorCode::INVALID_REQUEST);
}

TEST_F(HandlersTest, api_versions_offers_produce_from_0_but_serves_it_from_3) {
  wire::ApiVersionsRequest ask;
  const auto response = test_.call<wire::ApiVersionsResponse>(ask, 0);
  EXPECT_EQ(response.api_keys.at(0).api_key, 0);
  EXPECT_EQ(response.api_keys.at(0).min_version, 0);
}

TEST_F(HandlersTest, metadata_finds_topics_by_name_and_by_id_and_names_what_is_wrong) {
  const auto id = test_.create_topic("t", 2);
  wire::MetadataRequest ask;
  ask.allow_auto_topic_creation = false;
  auto& topics = ask.topics.emplace();
  topics.push_back({.name = "t"});
  topics.push_back({.name = "none"});
  topics.push_back({.name = "a b"});
  const auto by_name = test_.call<wire::MetadataResponse>(ask, 12);
  std::map<std::string, ErrorCode> errors;
  for (const auto& topic : by_name.topics) errors[*topic.name] = code(topic.error_code);
  EXPECT_EQ(errors, (std::map<std::string, ErrorCode>{{"t", ErrorCode::NONE}, {"none", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION}, {"a b", ErrorCode::INVALID_TOPIC_EXCEPTION}}));
  ask.topics = {{.topic_id = id.value, .name = std::nullopt}};
  EXPECT_EQ(test_.call<wire::MetadataResponse>(ask, 12).topics.at(0).partitions.size(), 2u);
  ask.topics = {{.topic_id = Uuid{1, 2}, .name = std::nullopt}};
  EXPECT_EQ(code(test_.call<wire::MetadataResponse>(ask, 12).topics.at(0).error_code), ErrorCode::UNKNOWN_TOPIC_ID);
  ask.topics = {{.topic_id = id.value, .name = "t"}};
  const auto refused = test_.call<wire::MetadataResponse>(ask, 11);
  EXPECT_EQ(code(refused.topics.at(0).error_code), ErrorCode::INVALID_REQUEST);
  EXPECT_TRUE(refused.brokers.empty());
}

TEST_F(HandlersTest, topic_partitions_come_in_pages_and_a_cursor_must_be_one_of_the_topics) {
  test_.create_topic("a", 3);
  test_.create_topic("b", 1);
  wire::DescribeTopicPartitionsRequest ask;
  ask.topics = {{.name = "b"}, {.name = "a"}};
  ask.response_partition_limit = 2;
  const auto first = test_.call<wire::DescribeTopicPartitionsResponse>(ask, 0);
  ASSERT_TRUE(first.next_cursor.has_value());
  EXPECT_EQ(first.next_cursor->topic_name, "a");
  EXPECT_EQ(first.next_cursor->partition_index, 2);
  ask.cursor.emplace();
  ask.cursor->topic_name = "a";
  ask.cursor->partition_index = 2;
  const auto second = test_.call<wire::DescribeTopicPartitionsResponse>(ask, 0);
  EXPECT_EQ(second.topics.size(), 2u);
  EXPECT_FALSE(second.next_cursor.has_value());
  ask.cursor->topic_name = "zz";
  EXPECT_EQ(code(test_.call<wire::DescribeTopicPartitionsResponse>(ask, 0).topics.at(0).error_code), ErrorCode::INVALID_REQUEST);
}

TEST_F(HandlersTest, a_cluster_is_described_by_its_brokers_only) {
  wire::DescribeClusterRequest ask;
  EXPECT_EQ(test_.call<wire::DescribeClusterResponse>(ask, 1).brokers.size(), 1u);
  ask.endpoint_type = 2;
  EXPECT_EQ(code(test_.call<wire::DescribeClusterResponse>(ask, 1).error_code), ErrorCode::MISMATCHED_ENDPOINT_TYPE);
  ask.endpoint_type = 3;
  EXPECT_EQ(code(test_.call<wire::DescribeClusterResponse>(ask, 1).error_code), ErrorCode::UNSUPPORTED_ENDPOINT_TYPE);
}

TEST_F(HandlersTest, coordinators_of_transactions_are_refused_with_an_error_that_no_client_retries) {
  wire::FindCoordinatorRequest ask;
  ask.coordinator_keys = {"tx"};
  ask.key_type = 1;
  const auto answer = test_.call<wire::FindCoordinatorResponse>(ask, 4).coordinators.at(0);
  EXPECT_EQ(code(answer.error_code), ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  EXPECT_FALSE(error_retriable(code(answer.error_code)));
  EXPECT_NE(answer.error_message->find("transactions"), std::string::npos);
  ask.key_type = 7;
  EXPECT_EQ(code(test_.call<wire::FindCoordinatorResponse>(ask, 4).coordinators.at(0).error_code), ErrorCode::INVALID_REQUEST);
}

ErrorCode list_offset(TestBroker& test, int64_t timestamp, int16_t version, int32_t partition = 0, int32_t epoch = -1) {
  wire::ListOffsetsRequest ask;
  ask.replica_id = -1;
  auto& asked = ask.topics.emplace_back();
  asked.name = "t";
  asked.partitions.push_back({.partition_index = partition, .current_leader_epoch = epoch, .timestamp = timestamp});
  return code(test.call<wire::ListOffsetsResponse>(ask, version).topics.at(0).partitions.at(0).error_code);
}

TEST_F(HandlersTest, special_timestamps_need_the_version_that_brought_them) {
  test_.create_topic("t", 1);
  for (const auto& [timestamp, version] : {std::pair(-3, 7), std::pair(-4, 8), std::pair(-5, 9), std::pair(-6, 11)}) {
    EXPECT_EQ(list_offset(test_, timestamp, static_cast<int16_t>(version)), ErrorCode::NONE) << timestamp;
    EXPECT_EQ(list_offset(test_, timestamp, static_cast<int16_t>(version - 1)), ErrorCode::UNSUPPORTED_VERSION) << timestamp;
  }
  EXPECT_EQ(list_offset(test_, -7, 11), ErrorCode::UNSUPPORTED_VERSION);
}

TEST_F(HandlersTest, a_leader_epoch_that_is_not_the_current_one_is_refused) {
  test_.create_topic("t", 1);
  EXPECT_EQ(list_offset(test_, -1, 7, 0, 0), ErrorCode::NONE);
  EXPECT_EQ(list_offset(test_, -1, 7, 0, 3), ErrorCode::UNKNOWN_LEADER_EPOCH);
  EXPECT_EQ(list_offset(test_, -1, 7, 9), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  wire::OffsetForLeaderEpochRequest ask;
  auto& asked = ask.topics.emplace_back();
  asked.topic = "t";
  asked.partitions.push_back({.partition = 0, .leader_epoch = 0});
  asked.partitions.push_back({.partition = 0, .current_leader_epoch = 5, .leader_epoch = 0});
  const auto answer = test_.call<wire::OffsetForLeaderEpochResponse>(ask, 4).topics.at(0).partitions;
  EXPECT_EQ(answer.at(0).end_offset, 0);
  EXPECT_EQ(code(answer.at(1).error_code), ErrorCode::UNKNOWN_LEADER_EPOCH);
}

ErrorCode delete_records(TestBroker& test, const std::string& topic, int64_t offset) {
  wire::DeleteRecordsRequest ask;
  ask.topics.push_back({.name = topic, .partitions = {{.partition_index = 0, .offset = offset}}});
  return code(test.call<wire::DeleteRecordsResponse>(ask, 1).topics.at(0).partitions.at(0).error_code);
}

TEST_F(HandlersTest, records_are_not_deleted_beyond_the_end_nor_where_the_policy_forbids_it) {
  test_.create_topic("t", 1);
  test_.create_topic("compacted", 1, {{"cleanup.policy", "compact"}});
  EXPECT_EQ(delete_records(test_, "t", 0), ErrorCode::NONE);
  EXPECT_EQ(delete_records(test_, "t", 1), ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(delete_records(test_, "t", -2), ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(delete_records(test_, "compacted", 0), ErrorCode::POLICY_VIOLATION);
  EXPECT_EQ(delete_records(test_, std::string(offsets_topic), 0), ErrorCode::INVALID_TOPIC_EXCEPTION);
  EXPECT_EQ(delete_records(test_, "none", 0), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

ErrorCode describe_config(TestBroker& test, int8_t type, const std::string& name) {
  wire::DescribeConfigsRequest ask;
  ask.resources.push_back({.resource_type = type, .resource_name = name});
  return code(test.call<wire::DescribeConfigsResponse>(ask, 4).results.at(0).error_code);
}

TEST_F(HandlersTest, configurations_are_described_for_what_is_there) {
  test_.create_topic("t", 1);
  EXPECT_EQ(describe_config(test_, 2, "t"), ErrorCode::NONE);
  EXPECT_EQ(describe_config(test_, 2, "none"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(describe_config(test_, 2, "a b"), ErrorCode::INVALID_TOPIC_EXCEPTION);
  EXPECT_EQ(describe_config(test_, 4, "1"), ErrorCode::NONE);
  for (const auto* name : {"2", "x", "1x"}) EXPECT_EQ(describe_config(test_, 4, name), ErrorCode::INVALID_REQUEST) << name;
  EXPECT_EQ(describe_config(test_, 8, ""), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(describe_config(test_, 77, "x"), ErrorCode::INVALID_REQUEST);
}

ErrorCode alter(TestBroker& test, int8_t type, const std::string& name, int8_t operation, const std::string& key, const std::string& value) {
  wire::IncrementalAlterConfigsRequest ask;
  auto& resource = ask.resources.emplace_back();
  resource.resource_type = type;
  resource.resource_name = name;
  resource.configs.push_back({.name = key, .config_operation = operation, .value = value});
  return code(test.call<wire::IncrementalAlterConfigsResponse>(ask, 1).responses.at(0).error_code);
}

TEST_F(HandlersTest, settings_of_this_node_are_checked_before_the_controller_hears_of_them) {
  test_.controller.requests.clear();
  EXPECT_EQ(alter(test_, 4, "1", 0, "node.id", "7"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(test_, 4, "2", 0, "log.retention.ms", "7"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(test_, 4, "1", 0, "listeners", "PLAINTEXT://:9999"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(test_, 4, "1", 0, "listener.name.plaintext.ssl.keystore.location", "/x"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(test_, 8, "1", 0, "root", "LOUD"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(alter(test_, 8, "1", 0, "no.such", "INFO"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(alter(test_, 8, "1", 2, "root", "INFO"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(test_, 8, "1", 0, "root", "INFO"), ErrorCode::NONE);
  EXPECT_EQ(alter(test_, 77, "x", 0, "a", "b"), ErrorCode::INVALID_REQUEST);
  EXPECT_TRUE(test_.controller.requests.empty());
  EXPECT_EQ(alter(test_, 2, "t", 0, "retention.ms", "7"), ErrorCode::NOT_CONTROLLER);  // passed on; the test's controller does not serve it
  EXPECT_EQ(test_.controller.requests.size(), 1u);
}

TEST_F(HandlersTest, a_resource_that_comes_twice_in_one_request_is_refused_both_times) {
  wire::AlterConfigsRequest ask;
  ask.resources.push_back({.resource_type = 2, .resource_name = "t"});
  ask.resources.push_back({.resource_type = 2, .resource_name = "t"});
  const auto response = test_.call<wire::AlterConfigsResponse>(ask, 1);
  ASSERT_EQ(response.responses.size(), 2u);
  for (const auto& each : response.responses) EXPECT_EQ(code(each.error_code), ErrorCode::INVALID_REQUEST);
}

}  // namespace
}  // namespace castellan::broker

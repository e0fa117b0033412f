// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/configs.h"

#include <gtest/gtest.h>

#include "controller/testing.h"
#include "wire/messages/alter_configs_request.h"
#include "wire/messages/alter_configs_response.h"
#include "wire/messages/incremental_alter_configs_request.h"
#include "wire/messages/incremental_alter_configs_response.h"

namespace castellan::controller {
namespace {

int16_t code(ErrorCode error) { return number(error); }

struct Configs : TestCluster {
  explicit Configs(image::FeatureLevels levels = {{"metadata.version", 33}}) : TestCluster(std::move(levels)) {
    add_broker(1);
    create_topic("t", 1, 1);
  }

  // The error code of one change.
  int16_t alter(int8_t type, const std::string& name, const std::string& key, std::optional<std::string> value, int8_t operation = 0) {
    wire::IncrementalAlterConfigsRequest request;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = type;
    resource.resource_name = name;
    auto& config = resource.configs.emplace_back();
    config.name = key;
    config.config_operation = operation;
    config.value = std::move(value);
    return call<wire::IncrementalAlterConfigsResponse>(std::move(request)).responses.at(0).error_code;
  }
};

constexpr int8_t topic = 2, broker = 4, broker_logger = 8, client_metrics = 16, group = 32;
constexpr int8_t delete_it = 1, append = 2, subtract = 3;

TEST(IncrementalAlterConfigs, SetsDeletesAppendsAndSubtracts) {
  Configs cluster;
  EXPECT_EQ(cluster.alter(topic, "t", "cleanup.policy", "compact"), 0);
  EXPECT_EQ(cluster.alter(topic, "t", "cleanup.policy", "delete", append), 0);
  EXPECT_EQ(cluster.image.configs.of_topic("t").at("cleanup.policy"), "compact,delete");
  EXPECT_EQ(cluster.alter(topic, "t", "cleanup.policy", "compact", subtract), 0);
  EXPECT_EQ(cluster.image.configs.of_topic("t").at("cleanup.policy"), "delete");
  EXPECT_EQ(cluster.alter(topic, "t", "cleanup.policy", "delete"), 0);
  EXPECT_TRUE(cluster.last.records.empty()) << "as it is already";
  EXPECT_EQ(cluster.alter(topic, "t", "cleanup.policy", std::nullopt, delete_it), 0);
  EXPECT_TRUE(cluster.image.configs.of_topic("t").empty());
}

TEST(IncrementalAlterConfigs, RefusalsHaveTheirCodes) {
  Configs cluster;
  EXPECT_EQ(cluster.alter(topic, "t", "retention.ms", "soon"), code(ErrorCode::INVALID_CONFIG));
  EXPECT_EQ(cluster.alter(topic, "t", "no.such", "1"), code(ErrorCode::INVALID_CONFIG));
  EXPECT_EQ(cluster.alter(topic, "t", "retention.ms", "1", append), code(ErrorCode::INVALID_CONFIG));
  EXPECT_EQ(cluster.alter(topic, "t", "retention.ms", "1", 9), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(cluster.alter(topic, "t", "retention.ms", std::nullopt), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(cluster.alter(topic, "missing", "retention.ms", "1"), code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(cluster.alter(topic, "a b", "retention.ms", "1"), code(ErrorCode::INVALID_TOPIC_EXCEPTION));
  EXPECT_EQ(cluster.alter(topic, "", "retention.ms", "1"), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(cluster.alter(broker, "9", "log.cleaner.threads", "2"), code(ErrorCode::BROKER_ID_NOT_REGISTERED));
  EXPECT_EQ(cluster.alter(broker, "x", "log.cleaner.threads", "2"), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(cluster.alter(broker_logger, "1", "root", "INFO"), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(cluster.alter(77, "1", "a", "b"), code(ErrorCode::INVALID_REQUEST));
  EXPECT_TRUE(cluster.last.records.empty());
}

TEST(IncrementalAlterConfigs, ABrokersKeyIsWrittenEvenUnchanged) {
  Configs cluster;
  for (const char* name : {"", "1", "100"}) {
    EXPECT_EQ(cluster.alter(broker, name, "log.cleaner.threads", "2"), 0) << name << ": all, a broker, a voter";
    EXPECT_EQ(cluster.alter(broker, name, "log.cleaner.threads", "2"), 0);
    EXPECT_EQ(names(cluster.last.records), (Names{"ConfigRecord"})) << "it reads its key stores again (KAFKA-14136)";
  }
}

TEST(IncrementalAlterConfigs, AResourceThatComesTwiceIsNotChanged) {
  Configs cluster;
  wire::IncrementalAlterConfigsRequest request;
  for (int i = 0; i < 2; ++i) {
    auto& resource = request.resources.emplace_back();
    resource.resource_type = topic;
    resource.resource_name = "t";
    auto& config = resource.configs.emplace_back();
    config.name = "retention.ms";
    config.value = "1";
  }
  for (const bool forwarded : {false, true}) {
    cluster.forwarded = forwarded;
    const auto response = cluster.call<wire::IncrementalAlterConfigsResponse>(request);
    ASSERT_EQ(response.responses.size(), forwarded ? 2u : 1u);
    EXPECT_EQ(response.responses.back().error_code, code(ErrorCode::INVALID_REQUEST));
    EXPECT_TRUE(cluster.last.records.empty());
  }
}

TEST(IncrementalAlterConfigs, AnswersAreByResource) {
  Configs cluster;
  wire::IncrementalAlterConfigsRequest request;
  for (const char* name : {"missing", "t"}) {
    auto& resource = request.resources.emplace_back();
    resource.resource_type = topic;
    resource.resource_name = name;
    auto& config = resource.configs.emplace_back();
    config.name = "retention.ms";
    config.value = "1";
  }
  auto dry = request;
  dry.validate_only = true;
  EXPECT_EQ(cluster.call<wire::IncrementalAlterConfigsResponse>(dry).responses[1].error_code, 0);
  EXPECT_TRUE(cluster.last.records.empty());
  const auto response = cluster.call<wire::IncrementalAlterConfigsResponse>(request);
  EXPECT_EQ(response.responses[0].error_code, code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(response.responses[1].error_code, 0);
  EXPECT_FALSE(response.responses[1].error_message.has_value());
  EXPECT_EQ(cluster.last.records.size(), 1u);
}

TEST(IncrementalAlterConfigs, WhoMayNotIsToldSo) {
  Configs cluster;
  cluster.access = [](auto, auto, auto) { return false; };
  EXPECT_EQ(cluster.alter(topic, "t", "retention.ms", "1"), code(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
  EXPECT_EQ(cluster.alter(broker, "1", "log.cleaner.threads", "1"), code(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
  EXPECT_EQ(cluster.alter(group, "g", "consumer.session.timeout.ms", "50000"), code(ErrorCode::GROUP_AUTHORIZATION_FAILED));
  EXPECT_EQ(cluster.alter(client_metrics, "m", "interval.ms", "1000"), code(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
}

TEST(IncrementalAlterConfigs, MoreThanABatchTakesIsRefusedAsAWhole) {
  Configs cluster;
  wire::IncrementalAlterConfigsRequest request;
  for (int i = 0; i < 300; ++i) {
    auto& resource = request.resources.emplace_back();
    resource.resource_type = client_metrics;
    resource.resource_name = fmt::format("subscription-{}", i);
    auto& config = resource.configs.emplace_back();
    config.name = "metrics";
    config.value = std::string(32'000, 'm');
  }
  const auto response = cluster.call<wire::IncrementalAlterConfigsResponse>(request);
  ASSERT_EQ(response.responses.size(), 300u);
  EXPECT_EQ(response.responses[0].error_code, code(ErrorCode::INVALID_REQUEST));
  EXPECT_TRUE(cluster.last.records.empty());
}

TEST(AlterConfigs, WhatIsNotNamedIsDeleted) {
  Configs cluster;
  cluster.alter(topic, "t", "retention.ms", "1000");
  wire::AlterConfigsRequest request;
  auto& resource = request.resources.emplace_back();
  resource.resource_type = topic;
  resource.resource_name = "t";
  auto& config = resource.configs.emplace_back();
  config.name = "segment.bytes";
  config.value = "2000000";
  EXPECT_EQ(cluster.call<wire::AlterConfigsResponse>(request).responses.at(0).error_code, 0);
  EXPECT_EQ(cluster.image.configs.of_topic("t"), (config::ConfigMap{{"segment.bytes", "2000000"}}));
}

TEST(MinInsyncReplicas, IsHeldByElr) {
  Configs cluster({{"metadata.version", 33}, {"eligible.leader.replicas.version", 1}});
  EXPECT_EQ(cluster.alter(broker, "1", "min.insync.replicas", "2"), code(ErrorCode::INVALID_CONFIG));
  EXPECT_EQ(cluster.alter(broker, "", "min.insync.replicas", "2"), 0);
  ASSERT_EQ(names(cluster.last.records), (Names{"ConfigRecord", "ClearElrRecord"}));
  EXPECT_EQ(std::get<wire::ClearElrRecord>(cluster.last.records[1].message).topic_name, "");
  EXPECT_EQ(cluster.alter(broker, "", "min.insync.replicas", std::nullopt, delete_it), code(ErrorCode::INVALID_CONFIG));
  EXPECT_EQ(cluster.alter(topic, "t", "min.insync.replicas", "3"), 0);
  EXPECT_EQ(std::get<wire::ClearElrRecord>(cluster.last.records[1].message).topic_name, "t");
}

TEST(CordonedDirectories, NeedTheBrokersWordAndTheVersion) {
  Configs cluster;
  EXPECT_EQ(cluster.alter(broker, "1", "cordoned.log.dirs", "/a,/b"), 0);
  cluster.forwarded = false;
  EXPECT_EQ(cluster.alter(broker, "1", "cordoned.log.dirs", "/a"), 0) << "fewer";
  EXPECT_EQ(cluster.alter(broker, "1", "cordoned.log.dirs", "/c"), code(ErrorCode::INVALID_CONFIG));
  EXPECT_EQ(cluster.alter(broker, "1", "cordoned.log.dirs", ""), 0);
  Configs old({{"metadata.version", 29}});
  EXPECT_EQ(old.alter(broker, "1", "cordoned.log.dirs", "/a"), code(ErrorCode::INVALID_CONFIG));
}

}  // namespace
}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/alter.h"

#include <gtest/gtest.h>

#include "config/topic_config.h"

namespace castellan::config {
namespace {

ServerConfig server() {
  return *ServerConfig::parse({{"process.roles", "broker,controller"}, {"node.id", "1"}, {"listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"},
                               {"controller.listener.names", "CONTROLLER"}, {"controller.quorum.bootstrap.servers", "h:9093"}, {"log.retention.hours", "2"}});
}

const Resource topic{ResourceType::TOPIC, "t"};
using Code = ErrorCode;

Result<ConfigMap> alter(const Resource& resource, const ConfigMap& before, std::vector<Change> changes) { return alter_incrementally(resource, before, changes, server()); }
Change set(std::string key, std::string value) { return {std::move(key), Operation::SET, std::move(value)}; }
Change op(Operation operation, std::string key, std::optional<std::string> value = {}) { return {std::move(key), operation, std::move(value)}; }

Code code(const Result<ConfigMap>& result) { return result ? Code::NONE : result.error().code; }

TEST(Alter, sets_and_deletes) {
  EXPECT_EQ(alter(topic, {{"retention.ms", "1"}}, {set("segment.ms", "5"), op(Operation::DELETE, "retention.ms")}).value(), (ConfigMap{{"segment.ms", "5"}}));
  EXPECT_EQ(alter(topic, {}, {op(Operation::DELETE, "no.such")}).value(), ConfigMap{});
}

TEST(Alter, appends_to_and_subtracts_from_lists_beginning_with_the_default) {
  EXPECT_EQ(alter(topic, {}, {op(Operation::APPEND, "cleanup.policy", "compact")}).value().at("cleanup.policy"), "delete,compact");
  EXPECT_EQ(alter(topic, {{"cleanup.policy", "delete,compact"}}, {op(Operation::APPEND, "cleanup.policy", "compact")}).value().at("cleanup.policy"), "delete,compact");
  EXPECT_EQ(alter(topic, {{"cleanup.policy", "delete,compact"}}, {op(Operation::SUBTRACT, "cleanup.policy", "delete")}).value().at("cleanup.policy"), "compact");
  EXPECT_EQ(code(alter(topic, {}, {op(Operation::APPEND, "retention.ms", "5")})), Code::INVALID_CONFIG);
  EXPECT_EQ(code(alter(topic, {}, {op(Operation::SUBTRACT, "no.such", "5")})), Code::INVALID_CONFIG);
}

TEST(Alter, requests_that_contradict_themselves_are_invalid) {
  EXPECT_EQ(code(alter(topic, {}, {set("retention.ms", "5"), op(Operation::DELETE, "retention.ms")})), Code::INVALID_REQUEST);
  EXPECT_EQ(code(alter(topic, {}, {op(Operation::SET, "retention.ms")})), Code::INVALID_REQUEST);
  EXPECT_EQ(code(alter(topic, {}, {op(static_cast<Operation>(9), "retention.ms", "1")})), Code::INVALID_REQUEST);
  EXPECT_EQ(code(alter({ResourceType::UNKNOWN, "x"}, {}, {})), Code::INVALID_REQUEST);
  EXPECT_EQ(code(alter({ResourceType::TOPIC, ""}, {}, {})), Code::INVALID_REQUEST);
  EXPECT_EQ(code(alter({ResourceType::BROKER, "x"}, {}, {})), Code::INVALID_REQUEST);
  EXPECT_EQ(code(alter({ResourceType::BROKER, "-1"}, {}, {})), Code::INVALID_REQUEST);
  EXPECT_EQ(code(alter({ResourceType::GROUP, ""}, {}, {})), Code::INVALID_REQUEST);
  EXPECT_EQ(code(alter({ResourceType::CLIENT_METRICS, ""}, {}, {})), Code::INVALID_REQUEST);
}

TEST(Alter, topic_settings_are_checked_as_a_whole) {
  EXPECT_EQ(code(alter(topic, {}, {set("no.such", "1")})), Code::INVALID_CONFIG);
  EXPECT_EQ(code(alter(topic, {}, {set("retention.ms", "x")})), Code::INVALID_CONFIG);
  EXPECT_EQ(code(alter(topic, {}, {set("retention.ms", "-2")})), Code::INVALID_CONFIG);
  EXPECT_EQ(alter(topic, {{"max.compaction.lag.ms", "2"}}, {set("min.compaction.lag.ms", "9")}).error().message,
            "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (2)");
  EXPECT_EQ(code(alter(topic, {}, {set("remote.storage.enable", "true")})), Code::INVALID_CONFIG);
  EXPECT_EQ(code(alter(topic, {{"remote.storage.enable", "true"}}, {set("remote.storage.enable", "false")})), Code::INVALID_CONFIG);
  std::string long_value = "1:1";
  for (int i = 0; i < 9000; ++i) long_value += ",1:1";
  EXPECT_EQ(code(alter(topic, {}, {set("leader.replication.throttled.replicas", long_value)})), Code::INVALID_CONFIG);
}

TEST(Alter, wholly_replaces_everything) {
  std::vector<Change> settings = {set("retention.ms", "9"), set("retention.ms", "10")};
  EXPECT_EQ(alter_wholly(topic, {{"segment.ms", "5"}}, settings, server()).value(), (ConfigMap{{"retention.ms", "10"}}));
  settings = {op(Operation::SET, "retention.ms")};
  EXPECT_EQ(code(alter_wholly(topic, {}, settings, server())), Code::INVALID_CONFIG);
}

TEST(Alter, client_metrics) {
  Resource metrics{ResourceType::CLIENT_METRICS, "m"};
  EXPECT_TRUE(alter(metrics, {}, {set("interval.ms", "5000"), set("metrics", "a,b"), set("match", "client_id=x.*,client_software_name=y")}).has_value());
  EXPECT_EQ(code(alter(metrics, {}, {set("foo", "1")})), Code::INVALID_REQUEST);
  EXPECT_EQ(code(alter(metrics, {}, {set("interval.ms", "5")})), Code::INVALID_REQUEST);
  for (std::string bad : {"client_id", "client_id=", "colour=blue", "client_id=a=b", "client_id=("}) EXPECT_EQ(code(alter(metrics, {}, {set("match", bad)})), Code::INVALID_CONFIG) << bad;
}

TEST(Alter, groups_stay_within_the_brokers_bounds) {
  Resource group{ResourceType::GROUP, "g"};
  EXPECT_TRUE(alter(group, {}, {set("consumer.session.timeout.ms", "50000")}).has_value());
  EXPECT_EQ(alter(group, {}, {set("consumer.session.timeout.ms", "1")}).error().message, "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.");
  EXPECT_EQ(code(alter(group, {}, {set("streams.num.standby.replicas", "5")})), Code::INVALID_CONFIG);
  EXPECT_EQ(code(alter(group, {}, {set("streams.task.offset.interval.ms", "5")})), Code::INVALID_CONFIG);
  EXPECT_EQ(code(alter(group, {}, {set("streams.assignor.name", "other")})), Code::INVALID_CONFIG);
  EXPECT_EQ(code(alter(group, {}, {set("streams.rack.aware.assignment.tags", "a,a")})), Code::INVALID_CONFIG);
  EXPECT_EQ(code(alter(group, {}, {set("errors.deadletterqueue.topic.name", "__x")})), Code::INVALID_CONFIG);
  EXPECT_EQ(code(alter(group, {}, {set("foo", "1")})), Code::INVALID_CONFIG);
}

TEST(Alter, a_broker_refuses_what_it_cannot_change_while_it_runs) {
  Resource one{ResourceType::BROKER, "1"}, all{ResourceType::BROKER, ""};
  auto outcome = [&](const Resource& resource, const ConfigMap& after) {
    auto result = validate_broker_settings(resource, after, server());
    return result ? Code::NONE : result.error().code;
  };
  EXPECT_EQ(outcome(one, {{"log.cleaner.threads", "2"}, {"my.own", "1"}, {"log.retention.ms", "5"}}), Code::NONE);
  EXPECT_EQ(outcome(one, {{"num.partitions", "5"}}), Code::INVALID_REQUEST);
  EXPECT_EQ(outcome(one, {{"num.io.threads", "x"}}), Code::INVALID_REQUEST);
  EXPECT_EQ(outcome(one, {{"num.io.threads", "4000"}}), Code::INVALID_REQUEST);
  EXPECT_EQ(outcome(one, {{"num.io.threads", "3"}}), Code::INVALID_REQUEST);
  EXPECT_EQ(outcome(one, {{"ssl.keystore.location", "/k"}}), Code::INVALID_REQUEST);
  EXPECT_EQ(outcome(all, {{"listeners", "PLAINTEXT://:1"}}), Code::INVALID_REQUEST);
  EXPECT_EQ(outcome(all, {{"message.max.bytes", "5"}}), Code::NONE);
  EXPECT_TRUE(alter(one, {}, {set("my.own", "1")}).has_value());
}

TEST(Alter, secrets_are_hidden_from_logs) {
  EXPECT_EQ(loggable_value(ResourceType::BROKER, "ssl.key.password", "x"), "[hidden]");
  EXPECT_EQ(loggable_value(ResourceType::BROKER, "listener.name.a.ssl.key.password", "x"), "[hidden]");
  EXPECT_EQ(loggable_value(ResourceType::BROKER, "no.such", "x"), "[hidden]");
  EXPECT_EQ(loggable_value(ResourceType::TOPIC, "retention.ms", "5"), "5");
  EXPECT_EQ(loggable_value(ResourceType::CLIENT_METRICS, "match", "a"), "a");
}

TEST(TopicConfig, own_settings_lie_over_the_brokers_over_the_defaults) {
  TopicConfig config = topic_config(server(), {{"cleanup.policy", "compact"}, {"segment.bytes", "2000000"}, {"flush.ms", "bad"}});
  EXPECT_TRUE(config.compact);
  EXPECT_FALSE(config.delete_);
  EXPECT_EQ(config.segment_bytes, 2000000);
  EXPECT_EQ(config.retention_ms, 7'200'000) << "log.retention.hours=2";
  EXPECT_EQ(config.segment_ms, 604'800'000);
  EXPECT_EQ(config.flush_ms, INT64_MAX);
  EXPECT_EQ(config.compression, CompressionType::producer);
  EXPECT_EQ(topic_config(server(), {{"internal.segment.bytes", "1000"}, {"segment.bytes", "2000000"}}).segment_bytes, 1000);
  EXPECT_EQ(topic_config(server().with_dynamic({{"log.retention.ms", "-1"}}, {}), {}).retention_ms, -1);
  EXPECT_EQ(topic_config(server(), {{"compression.type", "zstd"}}).compression, CompressionType::zstd);
  TopicConfig nothing = topic_config(server(), {{"cleanup.policy", ""}});
  EXPECT_FALSE(nothing.compact || nothing.delete_);
}

TEST(Alter, what_a_running_node_cannot_change_is_refused_with_the_way_out) {
  for (const char* key : {"listeners", "listener.security.protocol.map", "listener.name.plaintext.ssl.keystore.location", "sasl.enabled.mechanisms", "principal.builder.class",
                          "listener.name.plaintext.max.connections"}) {
    const auto refused = refuse_unchangeable({}, {{key, "x"}});
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, ErrorCode::INVALID_REQUEST);
    EXPECT_NE(refused.error().message.find(key), std::string::npos);
    EXPECT_NE(refused.error().message.find("server.properties"), std::string::npos);
    EXPECT_TRUE(refuse_unchangeable({{key, "x"}}, {{key, "x"}}).has_value()) << key << " was set so before";
    EXPECT_TRUE(refuse_unchangeable({{key, "x"}}, {}).has_value()) << key << " is taken away";
  }
  EXPECT_TRUE(refuse_unchangeable({}, {{"max.connections", "5"}, {"log.retention.ms", "5"}, {"somebody.else", "5"}}).has_value());
}

}  // namespace
}  // namespace castellan::config

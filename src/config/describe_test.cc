// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/describe.h"

#include <gtest/gtest.h>

namespace castellan::config {
namespace {

ServerConfig server() {
  return *ServerConfig::parse({{"process.roles", "broker,controller"}, {"node.id", "1"}, {"listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"},
                               {"controller.listener.names", "CONTROLLER"}, {"controller.quorum.bootstrap.servers", "h:9093"}, {"log.retention.ms", "-1"},
                               {"sasl.jaas.config", "secret"}, {"my.own", "1"}});
}

const ConfigMap none;

Entry only(std::vector<Entry> entries) {
  EXPECT_EQ(entries.size(), 1u);
  return entries.empty() ? Entry{} : entries[0];
}
Entry topic_entry(std::string name, const ConfigMap& cluster, const ConfigMap& broker, const ConfigMap& topic) {
  Names names{std::move(name)};
  return only(describe_topic(server(), {cluster, broker}, topic, &names));
}
Entry broker_entry(std::string name, const ConfigMap& cluster = none, const ConfigMap& broker = none) {
  Names names{std::move(name)};
  return only(describe_broker(server(), {cluster, broker}, &names));
}

TEST(Describe, a_topics_value_and_the_chain_behind_it) {
  Entry entry = topic_entry("retention.ms", none, none, {{"retention.ms", "7200000"}});
  EXPECT_EQ(entry.value, "7200000");
  EXPECT_EQ(entry.source, Source::DYNAMIC_TOPIC_CONFIG);
  EXPECT_EQ(entry.type, Type::LONG);
  EXPECT_EQ(entry.synonyms, (std::vector<Synonym>{{"retention.ms", "7200000", Source::DYNAMIC_TOPIC_CONFIG},
                                                  {"log.retention.ms", "-1", Source::STATIC_BROKER_CONFIG},
                                                  {"log.retention.hours", "168", Source::DEFAULT_CONFIG}}));
  entry = topic_entry("max.message.bytes", {{"message.max.bytes", "1600000"}}, {{"message.max.bytes", "1500000"}}, {});
  EXPECT_EQ(entry.value, "1500000");
  EXPECT_EQ(entry.source, Source::DYNAMIC_BROKER_CONFIG);
  EXPECT_EQ(entry.synonyms.size(), 3u);
}

TEST(Describe, a_key_whose_own_name_has_no_value_has_no_synonyms) {
  Entry entry = topic_entry("segment.ms", none, none, {});
  EXPECT_EQ(entry.value, "604800000");
  EXPECT_EQ(entry.source, Source::DEFAULT_CONFIG);
  EXPECT_TRUE(entry.synonyms.empty());
  EXPECT_TRUE(broker_entry("log.retention.minutes").synonyms.empty());
  EXPECT_EQ(broker_entry("log.retention.hours").synonyms.size(), 1u);
}

TEST(Describe, a_brokers_own_and_read_only_keys) {
  Entry id = broker_entry("node.id");
  EXPECT_EQ(id.value, "1");
  EXPECT_TRUE(id.read_only);
  EXPECT_EQ(id.synonyms, (std::vector<Synonym>{{"node.id", "1", Source::STATIC_BROKER_CONFIG}}));
  EXPECT_EQ(broker_entry("broker.id").synonyms.size(), 2u);
  EXPECT_FALSE(broker_entry("num.io.threads").read_only);
  Entry changed = broker_entry("log.cleaner.threads", {{"log.cleaner.threads", "3"}}, {{"log.cleaner.threads", "2"}});
  EXPECT_EQ(changed.value, "2");
  EXPECT_EQ(changed.synonyms.size(), 3u);
}

TEST(Describe, secrets_and_unknown_keys_have_no_value) {
  Entry secret = broker_entry("sasl.jaas.config");
  EXPECT_TRUE(secret.sensitive);
  EXPECT_EQ(secret.value, std::nullopt);
  EXPECT_EQ(secret.synonyms.at(0).value, std::nullopt);
  Entry own = broker_entry("my.own");
  EXPECT_TRUE(own.sensitive);
  EXPECT_EQ(own.value, std::nullopt);
  EXPECT_EQ(own.type, Type::UNKNOWN);
}

TEST(Describe, all_brokers_settings_are_those_that_are_set) {
  ConfigMap cluster{{"min.insync.replicas", "1"}};
  Entry entry = only(describe_cluster(cluster));
  EXPECT_EQ(entry.source, Source::DYNAMIC_DEFAULT_BROKER_CONFIG);
  EXPECT_EQ(entry.synonyms.size(), 1u);
  EXPECT_FALSE(entry.read_only);
}

TEST(Describe, groups_stand_on_the_brokers_keys) {
  Names names{"consumer.session.timeout.ms"};
  Entry entry = only(describe_group(server(), {none, none}, {{"consumer.session.timeout.ms", "50000"}}, &names));
  EXPECT_EQ(entry.source, Source::DYNAMIC_GROUP_CONFIG);
  EXPECT_EQ(entry.synonyms, (std::vector<Synonym>{{"consumer.session.timeout.ms", "50000", Source::DYNAMIC_GROUP_CONFIG},
                                                  {"group.consumer.session.timeout.ms", "45000", Source::DEFAULT_CONFIG}}));
  names = {"streams.assignor.name"};
  EXPECT_EQ(only(describe_group(server(), {none, none}, {}, &names)).value, "sticky");
  names = {"share.auto.offset.reset"};
  EXPECT_EQ(only(describe_group(server(), {none, none}, {}, &names)).synonyms.at(0).name, "share.auto.offset.reset");
  EXPECT_EQ(describe_group(server(), {none, none}, {}).size(), 21u);
}

TEST(Describe, client_metrics) {
  auto entries = describe_client_metrics({{"interval.ms", "5000"}});
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].value, "5000");
  EXPECT_EQ(entries[0].source, Source::DYNAMIC_CLIENT_METRICS_CONFIG);
  EXPECT_EQ(entries[1].source, Source::DEFAULT_CONFIG);
  EXPECT_TRUE(entries[1].synonyms.empty());
}

TEST(Describe, everything_is_described_unless_names_are_asked_for) {
  EXPECT_EQ(describe_topic(server(), {none, none}, {}).size(), 37u);
  EXPECT_EQ(describe_broker(server(), {none, none}).size(), 351u) << "350 and my.own";
  Names nothing;
  EXPECT_TRUE(describe_topic(server(), {none, none}, {}, &nothing).empty());
}

TEST(Describe, what_was_set_and_is_not_applied_is_not_shown_as_set) {
  Entry entry = broker_entry("listeners", none, {{"listeners", "PLAINTEXT://:1"}});
  EXPECT_EQ(entry.value, "PLAINTEXT://:9092,CONTROLLER://:9093");
  EXPECT_EQ(entry.source, Source::STATIC_BROKER_CONFIG);
  Names names{"listener.name.plaintext.ssl.keystore.location"};
  EXPECT_TRUE(describe_broker(server(), {none, {{"listener.name.plaintext.ssl.keystore.location", "/x"}}}, &names).empty());
  const ServerConfig effective = server().with_dynamic(none, {{"listeners", "PLAINTEXT://:1"}});
  ASSERT_EQ(effective.warnings.size(), server().warnings.size() + 1);
  EXPECT_NE(effective.warnings.back().find("listeners cannot be changed while this node runs"), std::string::npos) << effective.warnings.back();
}

}  // namespace
}  // namespace castellan::config

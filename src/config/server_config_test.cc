// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/http_address.h"
#include "config/server_config.h"

#include <gtest/gtest.h>

namespace castellan::config {
namespace {

ConfigMap combined() {
  return {{"process.roles", "broker,controller"},
          {"node.id", "1"},
          {"listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"},
          {"controller.listener.names", "CONTROLLER"},
          {"controller.quorum.bootstrap.servers", "127.0.0.1:9093"},
          {"log.dirs", "/data/a,/data/b"}};
}
ConfigMap with(ConfigMap map, std::string_view key, std::string_view value) {
  map[std::string(key)] = value;
  return map;
}
ConfigMap without(ConfigMap map, std::string_view key) {
  map.erase(std::string(key));
  return map;
}
ConfigMap controller() { return with(with(combined(), "process.roles", "controller"), "listeners", "CONTROLLER://127.0.0.1:9093"); }
ConfigMap broker() { return with(with(combined(), "process.roles", "broker"), "listeners", "PLAINTEXT://127.0.0.1:9092"); }

std::string refusal(const ConfigMap& map) {
  auto server = ServerConfig::parse(map);
  if (server) return "accepted";
  EXPECT_EQ(server.error().code, ErrorCode::INVALID_CONFIG);
  return server.error().message;
}
ServerConfig good(const ConfigMap& map) {
  auto server = ServerConfig::parse(map);
  EXPECT_TRUE(server.has_value()) << (server ? "" : server.error().message);
  return server.value_or(ServerConfig{});
}
#define EXPECT_NAMES(text, word) EXPECT_NE((text).find(word), std::string::npos) << (text)

TEST(ServerConfig, a_combined_node) {
  ServerConfig server = good(combined());
  EXPECT_TRUE(server.is_broker && server.is_controller);
  EXPECT_EQ(server.node_id, NodeId(1));
  ASSERT_EQ(server.broker_listeners.size(), 1u);
  EXPECT_EQ(server.broker_listeners[0], (Listener{.name = "PLAINTEXT", .host = "127.0.0.1", .port = 9092, .protocol = SecurityProtocol::PLAINTEXT}));
  ASSERT_EQ(server.controller_listeners.size(), 1u);
  EXPECT_EQ(server.controller_listeners[0].port, 9093);
  EXPECT_EQ(server.advertised_broker_listeners, server.broker_listeners);
  EXPECT_EQ(server.inter_broker_listener_name, "PLAINTEXT");
  EXPECT_EQ(server.metadata_log_dir, "/data/a");
  EXPECT_EQ(server.all_directories(), (std::vector<std::string>{"/data/a", "/data/b"}));
  EXPECT_EQ(server.bootstrap_servers, (std::vector<HostPort>{{"127.0.0.1", 9093}}));
  EXPECT_EQ(server.values.integer("broker.id"), 1);
  EXPECT_EQ(server.milliseconds("broker.session.timeout.ms"), std::chrono::milliseconds(9000));
  EXPECT_TRUE(server.warnings.empty());
  EXPECT_TRUE(server.check_supported().has_value());
}

TEST(ServerConfig, the_http_address_is_off_unless_it_is_set) {
  const auto address = [](std::string_view text) { return http_address(good(with(combined(), "castellan.http.address", std::string(text))).values).value(); };
  EXPECT_EQ(http_address(good(combined()).values).value(), std::nullopt);
  EXPECT_EQ(address("127.0.0.1:9990"), (HostPort{"127.0.0.1", 9990}));
  EXPECT_EQ(address(":9990"), (HostPort{"", 9990}));
  EXPECT_EQ(address("[::1]:0"), (HostPort{"::1", 0}));
  for (const char* bad : {"9990", "http://127.0.0.1:9990", "127.0.0.1:70000", "a b:1"}) {
    EXPECT_NAMES(refusal(with(combined(), "castellan.http.address", bad)), "castellan.http.address");
  }
}

TEST(ServerConfig, required_keys_are_named) {
  for (std::string_view key : {"process.roles", "node.id", "controller.listener.names"}) EXPECT_NAMES(refusal(without(combined(), key)), key);
  EXPECT_NAMES(refusal({}), "process.roles");
}

TEST(ServerConfig, a_bad_value_is_refused_under_the_name_it_was_given) {
  EXPECT_NAMES(refusal(with(combined(), "node.id", "one")), "node.id");
  EXPECT_NAMES(refusal(with(combined(), "node.id", "-1")), "node.id");
  EXPECT_NAMES(refusal(with(combined(), "num.network.threads", "0")), "num.network.threads");
  EXPECT_NAMES(refusal(with(combined(), "process.roles", "controller,zookeeper")), "zookeeper");
}

TEST(ServerConfig, broker_id_is_an_old_name_of_node_id) {
  ServerConfig server = good(with(without(combined(), "node.id"), "broker.id", "4"));
  EXPECT_EQ(server.node_id, NodeId(4));
  EXPECT_EQ(server.given.at("node.id"), "4");
  EXPECT_EQ(server.warnings.size(), 1u);
  EXPECT_NAMES(refusal(with(combined(), "broker.id", "4")), "`broker.id` is deprecated");
}

TEST(ServerConfig, unknown_keys_are_warned_about) {
  ServerConfig server = good(with(combined(), "no.such.key", "7"));
  ASSERT_EQ(server.warnings.size(), 1u);
  EXPECT_NAMES(server.warnings[0], "no.such.key");
}

TEST(ServerConfig, listeners_have_names_ports_and_protocols) {
  EXPECT_NAMES(refusal(with(combined(), "listeners", "PLAINTEXT:127.0.0.1")), "to a broker endpoint");
  EXPECT_NAMES(refusal(with(combined(), "listeners", "OTHER://:9092,CONTROLLER://:9093")), "No security protocol defined for listener OTHER");
  EXPECT_NAMES(refusal(with(combined(), "listeners", "PLAINTEXT://:9092,plaintext://:9093,CONTROLLER://:9094")), "different name");
  EXPECT_NAMES(refusal(with(combined(), "listeners", "PLAINTEXT://h:9093,CONTROLLER://h:9093")), "different port");
  EXPECT_NAMES(refusal(with(combined(), "listeners", "PLAINTEXT://127.0.0.1:9093,CONTROLLER://127.0.0.2:9093")), "one needs to be IPv4 and the other IPv6");
  EXPECT_NAMES(refusal(with(combined(), "listeners", "PLAINTEXT://:99999,CONTROLLER://:9093")), "range");
  EXPECT_EQ(refusal(with(combined(), "listeners", "PLAINTEXT://127.0.0.1:9093,CONTROLLER://[::1]:9093")), "accepted");
  EXPECT_EQ(refusal(with(combined(), "listeners", "PLAINTEXT://:0,CONTROLLER://:0")), "accepted");
  EXPECT_EQ(good(with(combined(), "listeners", "PLAINTEXT://[::1]:9092,CONTROLLER://:9093")).listeners[0].host, "::1");
  EXPECT_NAMES(refusal(with(combined(), "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT")), "CONTROLLER");
  EXPECT_NAMES(refusal(with(combined(), "listener.security.protocol.map", "PLAINTEXT:NONE,CONTROLLER:PLAINTEXT")), "`NONE`");
  EXPECT_NAMES(refusal(with(combined(), "listener.security.protocol.map", "PLAINTEXT")), "listener.security.protocol.map");
}

TEST(ServerConfig, advertised_addresses_are_routable_and_belong_to_listeners) {
  EXPECT_NAMES(refusal(with(combined(), "advertised.listeners", "PLAINTEXT://0.0.0.0:9092")), "0.0.0.0");
  EXPECT_NAMES(refusal(with(combined(), "listeners", "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093")), "0.0.0.0");
  EXPECT_NAMES(refusal(with(with(combined(), "advertised.listeners", "PLAINTEXT://h:1,SSL://h:2"), "inter.broker.listener.name", "PLAINTEXT")), "subset");
  ServerConfig server = good(with(combined(), "advertised.listeners", "PLAINTEXT://example.org:19092,CONTROLLER://example.org:19093"));
  EXPECT_EQ(server.advertised_broker_listeners.at(0).host, "example.org");
  EXPECT_EQ(server.advertised_controller_listeners.at(0).port, 19093);
}

TEST(ServerConfig, a_controller_without_a_host_is_reached_as_the_voters_say) {
  ConfigMap map = with(with(controller(), "controller.quorum.voters", "1@one.example:19093"), "listeners", "CONTROLLER://:9093");
  EXPECT_EQ(good(map).advertised_controller_listeners.at(0).host, "one.example");
  EXPECT_EQ(good(with(controller(), "listeners", "CONTROLLER://0.0.0.0:9093")).advertised_controller_listeners.at(0).host, "");
}

TEST(ServerConfig, roles_and_listeners_have_to_agree) {
  EXPECT_EQ(refusal(controller()), "accepted");
  EXPECT_EQ(refusal(broker()), "accepted");
  EXPECT_NAMES(refusal(with(controller(), "listeners", "PLAINTEXT://:9092,CONTROLLER://:9093")), "must only contain KRaft controller listeners");
  EXPECT_NAMES(refusal(with(controller(), "controller.listener.names", "OTHER")), "listener CONTROLLER");
  EXPECT_NAMES(refusal(with(combined(), "controller.listener.names", "CONTROLLER,OTHER")), "must only contain values appearing in the 'listeners'");
  EXPECT_NAMES(refusal(with(broker(), "listeners", "PLAINTEXT://:9092,CONTROLLER://:9093")), "must not contain a value appearing in the 'listeners'");
  EXPECT_NAMES(refusal(with(combined(), "listeners", "CONTROLLER://:9093")), "at least one broker advertised listener");
  EXPECT_NAMES(refusal(with(broker(), "controller.quorum.auto.join.enable", "true")), "auto.join");
  EXPECT_NAMES(refusal(with(controller(), "inter.broker.listener.name", "CONTROLLER")), "inter.broker.listener.name");
  EXPECT_NAMES(refusal(with(with(combined(), "inter.broker.listener.name", "PLAINTEXT"), "security.inter.broker.protocol", "PLAINTEXT")), "Only one of");
  EXPECT_NAMES(refusal(with(combined(), "inter.broker.listener.name", "NOWHERE")), "NOWHERE");
  EXPECT_NAMES(refusal(with(broker(), "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT")), "explicit security mapping");
}

TEST(ServerConfig, the_quorum_has_to_be_named) {
  ConfigMap map = without(combined(), "controller.quorum.bootstrap.servers");
  EXPECT_NAMES(refusal(map), "controller.quorum.bootstrap.servers");
  EXPECT_EQ(refusal(with(map, "controller.quorum.voters", "1@h:9093")), "accepted");
  EXPECT_NAMES(refusal(with(map, "controller.quorum.voters", "2@h:9093")), "the node id 1 must be included");
  EXPECT_NAMES(refusal(with(broker(), "controller.quorum.voters", "1@h:9093")), "must not be included");
}

TEST(ServerConfig, combinations_that_cannot_work_are_refused) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"log.roll.ms", "0"}, {"log.retention.ms", "0"}, {"log.roll.jitter.ms", "-1"}, {"replica.fetch.wait.max.ms", "40000"},
      {"log.cleaner.dedupe.buffer.size", "1048576"}, {"queued.max.request.bytes", "5"}, {"max.connections.per.ip", "0"}, {"connections.max.idle.ms", "100"},
      {"early.start.listeners", "NOWHERE"}, {"group.coordinator.rebalance.protocols", "consumer"}, {"group.consumer.heartbeat.interval.ms", "1"},
      {"group.share.assignors", "a,b"}, {"group.streams.num.standby.replicas", "9"}, {"cordoned.log.dirs", "/nowhere"}, {"cordoned.log.dirs", "*,/data/a"},
      {"max.connections.per.ip.overrides", "h:x"}, {"max.connections.per.ip.overrides", "h"}, {"log.dirs", ""}, {"log.dirs", "/a,,/b"},
      {"log.cleaner.max.compaction.lag.ms", "-1"}, {"security.inter.broker.protocol", "SASL_PLAINTEXT"}};
  for (auto [key, value] : cases) EXPECT_NE(refusal(with(combined(), key, value)), "accepted") << key << "=" << value;
  EXPECT_EQ(refusal(with(with(combined(), "max.connections.per.ip", "0"), "max.connections.per.ip.overrides", "127.0.0.1:5")), "accepted");
  EXPECT_EQ(refusal(with(combined(), "cordoned.log.dirs", "*")), "accepted");
  EXPECT_EQ(refusal(with(combined(), "log.retention.minutes", "-5")), "accepted");
}

TEST(ServerConfig, doubtful_heartbeats_are_warned_about) {
  EXPECT_NAMES(good(with(combined(), "broker.heartbeat.interval.ms", "8000")).warnings.at(0), "broker.session.timeout.ms");
}

TEST(ServerConfig, what_would_weaken_security_silently_stops_the_server_but_not_the_storage_tool) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
      {"ssl.keystore.location", "/keys"},
      {"sasl.enabled.mechanisms", "PLAIN"},
      {"sasl.jaas.config", "x"},
      {"principal.builder.class", "my.Builder"},
      {"create.topic.policy.class.name", "my.Policy"},
      {"client.quota.callback.class", "my.Quota"},
      {"remote.log.storage.system.enable", "true"},
      {"listener.name.plaintext.ssl.client.auth", "required"},
      {"config.providers", "file"}};
  for (auto [key, value] : cases) {
    ServerConfig server = good(with(combined(), key, value));
    auto supported = server.check_supported();
    ASSERT_FALSE(supported.has_value()) << key;
    EXPECT_NAMES(supported.error().message, key);
  }
  ConfigMap tls = with(with(combined(), "listeners", "SSL://:9092,CONTROLLER://:9093"), "listener.security.protocol.map", "SSL:SSL,CONTROLLER:PLAINTEXT");
  ServerConfig secure = good(with(tls, "inter.broker.listener.name", "SSL"));
  ASSERT_FALSE(secure.check_supported().has_value());
  EXPECT_TRUE(good(with(combined(), "ssl.client.auth", "none")).check_supported().has_value());
}

TEST(ServerConfig, dynamic_settings_lie_over_the_files) {
  ServerConfig server = good(combined());
  ServerConfig now = server.with_dynamic({{"message.max.bytes", "5"}, {"log.cleaner.threads", "3"}, {"num.partitions", "9"}}, {{"message.max.bytes", "6"}, {"log.roll.ms", "bad"}, {"own.key", "1"}});
  EXPECT_EQ(now.values.integer("message.max.bytes"), 6);
  EXPECT_EQ(now.values.integer("log.cleaner.threads"), 3);
  EXPECT_EQ(now.values.integer("num.partitions"), 1) << "read-only";
  EXPECT_TRUE(now.values.is_null("log.roll.ms"));
  EXPECT_EQ(now.warnings.size(), 1u);
  EXPECT_EQ(server.values.integer("message.max.bytes"), 1048588);
  EXPECT_EQ(server.with_dynamic({}, {{"max.connections.per.ip.overrides", "10.0.0.1:3"}}).connections_per_ip_overrides.at("10.0.0.1"), 3);
}

}  // namespace
}  // namespace castellan::config

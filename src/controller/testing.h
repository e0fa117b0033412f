// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// For the tests of this folder: a controller that leads, with an image that every result is applied to at once, as if each
// write were committed before the next request.
//
//   TestCluster cluster;
//   cluster.add_broker(1);
//   auto response = cluster.create_topic("orders", 3, 1);
//   cluster.last.records;                                   // what the last request wrote

#pragma once

#include <gtest/gtest.h>

#include "controller/controller.h"
#include "image/apply.h"
#include "wire/codec.h"
#include "wire/messages/alter_partition_request.h"
#include "wire/messages/alter_partition_response.h"
#include "wire/messages/broker_heartbeat_request.h"
#include "wire/messages/broker_heartbeat_response.h"
#include "wire/messages/broker_registration_request.h"
#include "wire/messages/broker_registration_response.h"
#include "wire/messages/create_topics_request.h"
#include "wire/messages/create_topics_response.h"

namespace castellan::controller {

inline config::ServerConfigPtr test_server(const config::ConfigMap& more = {}) {
  config::ConfigMap file = {{"node.id", "100"}, {"process.roles", "controller"}, {"controller.listener.names", "CONTROLLER"}, {"listeners", "CONTROLLER://:9093"},
                            {"controller.quorum.bootstrap.servers", "localhost:9093"}};
  for (const auto& [key, value] : more) file.insert_or_assign(key, value);
  auto parsed = config::ServerConfig::parse(file);
  CHECK(parsed.has_value(), "{}", parsed.error().message);
  return std::make_shared<const config::ServerConfig>(std::move(*parsed));
}

struct TestCluster {
  Controller controller;
  Image image;
  Now now{{1'000'000'000}, {1'700'000'000'000}};
  ControllerResult last;
  std::vector<NodeId> voters{NodeId{100}};
  int16_t kraft_version = 1;
  Access access;                 // none: everything is allowed
  bool forwarded = true;
  bool from_this_process = false;

  explicit TestCluster(image::FeatureLevels levels = {{"metadata.version", 33}}, const config::ConfigMap& more = {})
      : controller({.cluster_id = "test-cluster", .node_id = NodeId{100}, .server = test_server(more)}, 7) {
    controller.claim(image, now.monotonic);
    for (const auto& [name, level] : levels) {
      wire::FeatureLevelRecord record;
      record.name = name;
      record.feature_level = level;
      apply({.version = 0, .message = std::move(record)});
    }
  }

  Context context() {
    Context made = controller.context(image, now, image.last_offset + 1);
    made.voters = voters;
    made.kraft_version = kraft_version;
    made.forwarded = forwarded;
    made.from_this_process = from_this_process;
    if (access) made.access = &access;
    return made;
  }

  void apply(const MetadataRecord& record) {
    (void)image::encode_metadata_record(record);  // every record can be said in its version
    const auto applied = image::apply(image, record, image.last_offset + 1);
    CHECK(applied.has_value(), "{}", applied.error().message);
  }

  void take(ControllerResult result) {
    for (const MetadataRecord& record : result.records) apply(record);
    last = std::move(result);
  }

  template <class Response, class Message>
  Response call(Message message, int16_t version = Message::info().valid.last) {
    take(controller.handle(Request::of(std::move(message), version), context()));
    wire::Writer writer;  // every reply can be said in the version of its request
    const auto encoded = wire::encode_message(*last.reply.info, last.reply.message.get(), version, writer);
    CHECK(encoded.has_value(), "{}", encoded.error().message);
    return last.reply.as<Response>();
  }

  // Everything whose time has come.
  std::vector<MetadataRecord> tick() {
    std::vector<MetadataRecord> all;
    while (auto result = controller.tick(context())) {
      all.insert(all.end(), result->records.begin(), result->records.end());
      take(std::move(*result));
    }
    return all;
  }

  void advance(std::chrono::milliseconds by) {
    now.monotonic = now.monotonic + by;
    now.wall = now.wall + by;
  }

  static wire::BrokerRegistrationRequest registration_of(int32_t id, uint64_t incarnation = 1) {
    wire::BrokerRegistrationRequest request;
    request.broker_id = id;
    request.cluster_id = "test-cluster";
    request.incarnation_id = Uuid{incarnation, static_cast<uint64_t>(id)};
    request.rack.reset();
    auto& listener = request.listeners.emplace_back();
    listener.name = "PLAINTEXT";
    listener.host = "localhost";
    listener.port = static_cast<uint16_t>(9000 + id);
    for (const auto& [name, range] : image::supported_features(false)) {
      auto& feature = request.features.emplace_back();
      feature.name = name;
      feature.min_supported_version = range.min;
      feature.max_supported_version = range.max;
    }
    request.log_dirs = {Uuid{1000, static_cast<uint64_t>(id)}};
    return request;
  }

  wire::BrokerRegistrationResponse register_broker(wire::BrokerRegistrationRequest request, int16_t version = 4) {
    return call<wire::BrokerRegistrationResponse>(std::move(request), version);
  }

  wire::BrokerHeartbeatRequest heartbeat_of(int32_t id) const {
    wire::BrokerHeartbeatRequest request;
    request.broker_id = id;
    const auto* broker = image.cluster.broker(NodeId(id));
    request.broker_epoch = broker == nullptr ? -1 : broker->epoch.value;
    request.current_metadata_offset = image.last_offset.value;
    return request;
  }

  wire::BrokerHeartbeatResponse heartbeat(wire::BrokerHeartbeatRequest request) { return call<wire::BrokerHeartbeatResponse>(std::move(request)); }

  // Registered and unfenced.
  void add_broker(int32_t id) {
    ASSERT_EQ(register_broker(registration_of(id)).error_code, 0);
    ASSERT_FALSE(heartbeat(heartbeat_of(id)).is_fenced);
  }

  void fence(int32_t id) {
    auto request = heartbeat_of(id);
    request.want_fence = true;
    ASSERT_TRUE(heartbeat(request).is_fenced);
  }

  void unfence(int32_t id) { ASSERT_FALSE(heartbeat(heartbeat_of(id)).is_fenced); }

  wire::CreateTopicsResponse::CreatableTopicResult create_topic(const std::string& name, int32_t partitions, int16_t replication_factor,
                                                                const std::vector<std::vector<int32_t>>& assignments = {},
                                                                const config::ConfigMap& configs = {}) {
    wire::CreateTopicsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    topic.num_partitions = partitions;
    topic.replication_factor = replication_factor;
    for (size_t i = 0; i < assignments.size(); ++i) {
      auto& assignment = topic.assignments.emplace_back();
      assignment.partition_index = static_cast<int32_t>(i);
      assignment.broker_ids = assignments[i];
    }
    for (const auto& [key, value] : configs) {
      auto& config = topic.configs.emplace_back();
      config.name = key;
      config.value = value;
    }
    return call<wire::CreateTopicsResponse>(std::move(request)).topics.at(0);
  }
  wire::CreateTopicsResponse::CreatableTopicResult create_assigned(const std::string& name, const std::vector<std::vector<int32_t>>& assignments,
                                                                   const config::ConfigMap& configs = {}) {
    return create_topic(name, -1, -1, assignments, configs);
  }

  const image::Partition& partition(const std::string& topic, int32_t index = 0) const { return *image.topics.partition(topic, index); }

  // The leader's report of its ISR; the error of the partition.
  wire::AlterPartitionResponse::PartitionData alter_isr(const std::string& topic, std::vector<int32_t> isr, int32_t index = 0) {
    const image::Partition& now_is = partition(topic, index);
    wire::AlterPartitionRequest request;
    request.broker_id = now_is.leader().value;
    const auto* broker = image.cluster.broker(now_is.leader());
    request.broker_epoch = broker == nullptr ? -1 : broker->epoch.value;
    auto& out = request.topics.emplace_back();
    out.topic_id = image.topics.by_name(topic)->id.value;
    auto& data = out.partitions.emplace_back();
    data.partition_index = index;
    data.leader_epoch = now_is.leader_epoch().value;
    data.partition_epoch = now_is.partition_epoch();
    for (int32_t id : isr) {
      auto& member = data.new_isr_with_epochs.emplace_back();
      member.broker_id = id;
      const auto* registration = image.cluster.broker(NodeId(id));
      member.broker_epoch = registration == nullptr ? -1 : registration->epoch.value;
    }
    auto response = call<wire::AlterPartitionResponse>(std::move(request));
    if (response.error_code != 0) return {.partition_index = index, .error_code = response.error_code};
    return response.topics.at(0).partitions.at(0);
  }
};

inline std::vector<int32_t> ids(std::span<const NodeId> nodes) {
  std::vector<int32_t> plain;
  for (NodeId node : nodes) plain.push_back(node.value);
  return plain;
}

inline std::vector<std::string_view> names(const MetadataRecords& records) {
  std::vector<std::string_view> all;
  for (const MetadataRecord& record : records) all.push_back(image::record_name(record));
  return all;
}

using Ids = std::vector<int32_t>;
using Names = std::vector<std::string_view>;

}  // namespace castellan::controller

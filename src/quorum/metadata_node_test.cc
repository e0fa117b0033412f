// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/metadata_node.h"

#include <gtest/gtest.h>

#include "image/image.h"
#include "log/metadata_snapshot.h"
#include "quorum/testing.h"
#include "record/batch.h"
#include "wire/api_key.h"
#include "wire/codec.h"
#include "wire/messages/allocate_producer_ids_request.h"
#include "wire/messages/broker_heartbeat_request.h"
#include "wire/messages/broker_heartbeat_response.h"
#include "wire/messages/broker_registration_request.h"
#include "wire/messages/broker_registration_response.h"
#include "wire/messages/create_topics_request.h"
#include "wire/messages/create_topics_response.h"
#include "wire/messages/describe_quorum_request.h"
#include "wire/messages/describe_quorum_response.h"
#include "wire/messages/fetch_request.h"
#include "wire/messages/fetch_response.h"

namespace castellan::quorum {
namespace {

template <class Response, class Request>
Result<Response> ask(TestNode& node, const Request& request, int16_t version) {
  TRY(Bytes body, wire::encode_to_bytes(request, version));
  TRY(const Bytes answer, node.call(Request::info().key, version, std::move(body)));
  return wire::decode_exactly<Response>(version, answer);
}

void register_broker(TestNode& node) {
  wire::BrokerRegistrationRequest request;
  request.broker_id = 1;
  request.cluster_id = node.cluster_id;
  request.incarnation_id = Uuid{1, 2};
  request.listeners.push_back({.name = "PLAINTEXT", .host = "localhost", .port = 9092, .security_protocol = 0});
  for (const auto& [name, range] : image::supported_features(false)) {
    request.features.push_back({.name = name, .min_supported_version = range.min, .max_supported_version = range.max});
  }
  request.log_dirs = {node.directory_id.value};
  const auto registered = ask<wire::BrokerRegistrationResponse>(node, request, 4);
  ASSERT_TRUE(registered) << registered.error().message;
  ASSERT_EQ(registered->error_code, 0);
  wire::BrokerHeartbeatRequest heartbeat;
  heartbeat.broker_id = 1;
  heartbeat.broker_epoch = registered->broker_epoch;
  heartbeat.current_metadata_offset = registered->broker_epoch;
  heartbeat.want_fence = false;
  const auto unfenced = ask<wire::BrokerHeartbeatResponse>(node, heartbeat, 1);
  ASSERT_TRUE(unfenced) << unfenced.error().message;
  ASSERT_FALSE(unfenced->is_fenced);
}

Result<ErrorCode> create_topic(TestNode& node, const std::string& name, int32_t partitions = 1) {
  wire::CreateTopicsRequest request;
  request.timeout_ms = 10'000;
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.num_partitions = partitions;
  topic.replication_factor = 1;
  TRY(const auto response, ask<wire::CreateTopicsResponse>(node, request, 7));
  if (response.topics.size() != 1) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "{} topics answered", response.topics.size());
  return static_cast<ErrorCode>(response.topics[0].error_code);
}

class MetadataNodeTest : public testing::Test {
 protected:
  void start() {
    const auto started = node.start();
    ASSERT_TRUE(started) << started.error().message;
    ASSERT_TRUE(node.run_until_active());
  }

  io::MemoryFileSystem files;
  World world{7};
  TestNode node{world, files, {}};
};

TEST_F(MetadataNodeTest, a_formatted_directory_becomes_an_active_controller_with_its_bootstrap_metadata) {
  node.format();
  start();
  const auto view = node.node().view();
  EXPECT_TRUE(view.is_leader);
  EXPECT_EQ(view.epoch, Epoch{1});
  EXPECT_EQ(view.kraft_version, 1);
  ASSERT_TRUE(world.run_until([&] { return !node.node().image()->empty(); }));
  EXPECT_EQ(node.node().image()->features.metadata_version->level(), 33);
  ASSERT_TRUE(world.run_until([&] { return node.node().image()->cluster.controllers.find(NodeId{1}) != nullptr; }));
  EXPECT_TRUE(node.lines.empty()) << node.lines.front();
}

TEST_F(MetadataNodeTest, an_acknowledged_topic_is_there_after_a_power_cut) {
  node.format();
  start();
  register_broker(node);
  const auto created = create_topic(node, "orders", 3);
  ASSERT_TRUE(created) << created.error().message;
  ASSERT_EQ(*created, ErrorCode::NONE);
  EXPECT_NE(node.node().image()->topics.by_name("orders"), nullptr);
  node.kill();
  start();
  ASSERT_TRUE(world.run_until([&] { return node.node().image()->topics.by_name("orders") != nullptr; }));
  EXPECT_EQ(node.node().view().epoch, Epoch{2});
  EXPECT_EQ(*create_topic(node, "orders"), ErrorCode::TOPIC_ALREADY_EXISTS);
  EXPECT_TRUE(node.fatal.empty());
}

TEST_F(MetadataNodeTest, a_clean_stop_comes_to_an_end_and_loses_nothing) {
  node.format();
  start();
  register_broker(node);
  ASSERT_EQ(*create_topic(node, "orders"), ErrorCode::NONE);
  ASSERT_TRUE(node.stop());
  start();
  ASSERT_TRUE(world.run_until([&] { return node.node().image()->topics.by_name("orders") != nullptr; }));
}

TEST_F(MetadataNodeTest, static_voters_lead_with_kraft_version_0) {
  TestNode other{world, files, {.static_voters = true}};
  other.format();
  const auto started = other.start();
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_TRUE(other.run_until_active());
  EXPECT_EQ(other.node().view().kraft_version, 0);
  const auto state = files.read_file(other.folder + "/quorum-state");
  ASSERT_TRUE(state);
  EXPECT_NE(as_text(*state).find("\"data_version\":0"), std::string_view::npos) << as_text(*state);
}

TEST_F(MetadataNodeTest, a_reply_leaves_only_after_the_readers_have_applied_its_image) {
  node.format();
  start();
  register_broker(node);
  ImageReader reader([] {});
  node.node().add_reader(&reader);
  reader.applied(*reader.take());
  wire::CreateTopicsRequest request;
  request.topics.push_back({.name = "orders", .num_partitions = 1, .replication_factor = 1});
  bool answered = false;
  node.node().handle({.api_key = 19, .api_version = 7, .body = *wire::encode_to_bytes(request, 7)}, [&](const Result<Bytes>&) { answered = true; });
  world.run_for(std::chrono::seconds(2));
  EXPECT_FALSE(answered);
  const auto image = reader.take();
  ASSERT_TRUE(image);
  EXPECT_NE(image->topics.by_name("orders"), nullptr);
  reader.applied(*image);
  EXPECT_TRUE(world.run_until([&] { return answered; }));
  node.node().remove_reader(&reader);
}

TEST_F(MetadataNodeTest, requests_that_wait_together_are_one_batch_and_each_gets_its_own_answer) {
  node.format();
  start();
  register_broker(node);
  const auto batches = [&] {
    const Bytes log = *files.read_file(node.folder + "/00000000000000000000.log");
    record::BatchScanner scanner(log);
    int count = 0;
    while (const auto batch = *scanner.next()) {
      EXPECT_EQ(batch->base_timestamp(), batch->max_timestamp()) << "Apache Kafka reads no metadata batch in which they differ";
      ++count;
    }
    return count;
  };
  const int before = batches();
  std::vector<ErrorCode> answers;
  for (const char* name : {"a", "b", "a", "c"}) {  // the second "a" is decided against the first
    wire::CreateTopicsRequest request;
    request.topics.push_back({.name = name, .num_partitions = 2, .replication_factor = 1});
    node.node().handle({.api_key = 19, .api_version = 7, .body = *wire::encode_to_bytes(request, 7)}, [&](const Result<Bytes>& answer) {
      ASSERT_TRUE(answer);
      answers.push_back(static_cast<ErrorCode>(wire::decode_exactly<wire::CreateTopicsResponse>(7, *answer)->topics[0].error_code));
    });
  }
  ASSERT_TRUE(world.run_until([&] { return answers.size() == 4; }));
  EXPECT_EQ(answers, (std::vector{ErrorCode::NONE, ErrorCode::NONE, ErrorCode::TOPIC_ALREADY_EXISTS, ErrorCode::NONE}));
  EXPECT_LE(batches(), before + 2);  // an empty record may have come between
  node.kill();
  start();
  ASSERT_TRUE(world.run_until([&] { return node.node().image()->topics.by_name("c") != nullptr; }));
  EXPECT_EQ(node.node().image()->topics.partition_count, 6);
}

TEST_F(MetadataNodeTest, a_request_before_the_controller_is_active_is_refused) {
  node.format();
  ASSERT_TRUE(node.start());
  const auto answer = create_topic(node, "orders");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::NOT_CONTROLLER);
}

TEST_F(MetadataNodeTest, bytes_that_are_no_request_are_an_error_and_nothing_else) {
  node.format();
  start();
  EXPECT_EQ(node.call(19, 7, {0xff}).error().code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(node.call(52, 2, {0xff}).error().code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(node.call(19, 99, {}).error().code, ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_TRUE(node.node().view().active);
}

TEST_F(MetadataNodeTest, describe_quorum_names_the_leader_and_its_directory) {
  node.format();
  start();
  wire::DescribeQuorumRequest request;
  request.topics.push_back({.topic_name = "__cluster_metadata", .partitions = {{.partition_index = 0}}});
  const auto response = ask<wire::DescribeQuorumResponse>(node, request, 2);
  ASSERT_TRUE(response);
  ASSERT_EQ(response->topics.size(), 1u);
  const auto& partition = response->topics[0].partitions.at(0);
  EXPECT_EQ(partition.leader_id, 1);
  EXPECT_EQ(partition.leader_epoch, 1);
  ASSERT_EQ(partition.current_voters.size(), 1u);
  EXPECT_EQ(partition.current_voters[0].replica_directory_id, node.directory_id.value);
  EXPECT_GT(partition.high_watermark, 0);
  ASSERT_EQ(response->nodes.size(), 1u);
  EXPECT_EQ(response->nodes[0].listeners.at(0).port, 9093);

  request.topics[0].topic_name = "other";
  const auto refused = ask<wire::DescribeQuorumResponse>(node, request, 2);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->topics.at(0).partitions.at(0).error_code, 3);
  EXPECT_EQ(refused->topics.at(0).topic_name, "other");
}

TEST_F(MetadataNodeTest, an_observer_fetches_the_whole_log_batch_by_batch) {
  node.format();
  start();
  register_broker(node);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(*create_topic(node, "topic-" + std::to_string(i)), ErrorCode::NONE);
  const auto fetch = [&](int64_t offset, int32_t epoch, int32_t max_bytes) {
    wire::FetchRequest request;
    request.cluster_id = node.cluster_id;
    request.replica_state.replica_id = 9;
    request.max_bytes = max_bytes;
    auto& topic = request.topics.emplace_back();
    topic.topic_id = metadata_topic_id.value;
    auto& partition = topic.partitions.emplace_back();
    partition.current_leader_epoch = 1;
    partition.fetch_offset = offset;
    partition.last_fetched_epoch = epoch;
    return node.call(1, 17, *wire::encode_to_bytes(request, 17));
  };
  const int64_t end = node.node().view().high_watermark.value;
  int64_t offset = 0;
  int batches = 0;
  while (offset < end) {
    const auto answer = fetch(offset, offset == 0 ? 0 : 1, 1);
    ASSERT_TRUE(answer);
    wire::Reader reader(*answer);
    const auto response = wire::decode_as<wire::FetchResponse>(17, reader);
    ASSERT_TRUE(response);
    ASSERT_EQ(response->responses.size(), 1u);
    const auto& partition = response->responses[0].partitions[0];
    ASSERT_EQ(partition.error_code, 0);
    const auto batch = record::check_batch(partition.records.view);
    ASSERT_TRUE(batch) << batch.error().message;
    ASSERT_EQ(batch->base_offset(), offset);
    offset = batch->next_offset();
    ++batches;
  }
  EXPECT_GT(batches, 20);
}

TEST_F(MetadataNodeTest, an_idle_leader_writes_an_empty_record_twice_a_second_and_nothing_else) {
  node.format();
  start();
  world.run_for(std::chrono::seconds(5));
  const int64_t before = node.node().view().high_watermark.value;
  world.run_for(std::chrono::seconds(10));
  EXPECT_NEAR(static_cast<double>(node.node().view().high_watermark.value - before), 20.0, 1.0);
}

TEST_F(MetadataNodeTest, snapshots_bound_the_log_and_a_restart_begins_with_one) {
  TestNode small{world, files, {.extra_properties = "metadata.log.max.record.bytes.between.snapshots=20000\nmetadata.max.retention.bytes=60000\n"
                                                     "metadata.log.segment.bytes=8388608\n"}};
  small.format();
  ASSERT_TRUE(small.start());
  ASSERT_TRUE(small.run_until_active());
  register_broker(small);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(*create_topic(small, "topic-" + std::to_string(i), 5), ErrorCode::NONE);
  world.run_for(std::chrono::minutes(3));
  const auto snapshots = log::list_snapshots(files, small.folder);
  ASSERT_TRUE(snapshots);
  ASSERT_GE(snapshots->size(), 1u);
  EXPECT_LT(snapshots->size(), 5u);
  EXPECT_GT(snapshots->front().end_offset, 0);
  small.kill();
  ASSERT_TRUE(small.start());
  ASSERT_TRUE(small.run_until_active());
  EXPECT_EQ(small.node().image()->topics.by_id.size(), 300u);
  EXPECT_TRUE(small.fatal.empty());
  EXPECT_TRUE(small.lines.empty()) << small.lines.front();
}

TEST_F(MetadataNodeTest, the_view_says_since_when_there_is_a_leader_and_when_the_log_last_moved) {
  node.format();
  start();
  const QuorumView first = node.node().view();
  EXPECT_EQ(first.leader, NodeId{1});
  EXPECT_GE(first.leader_changes, 1u);
  world.run_for(std::chrono::seconds(2));  // an idle controller writes every half second
  const QuorumView later = node.node().view();
  EXPECT_EQ(later.leader_since.monotonic, first.leader_since.monotonic);
  EXPECT_GT(later.high_watermark, first.high_watermark);
  EXPECT_GE(later.advanced, world.monotonic() + std::chrono::seconds(-1));
}

}  // namespace
}  // namespace castellan::quorum

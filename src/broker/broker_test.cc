// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <gtest/gtest.h>

#include "broker/api_table.h"
#include "broker/metrics.h"
#include "broker/partitions.h"
#include "broker/test_broker.h"
#include "record/builder.h"
#include "record/reader.h"
#include "wire/messages/api_versions_request.h"
#include "wire/messages/api_versions_response.h"
#include "wire/messages/delete_records_request.h"
#include "wire/messages/delete_records_response.h"
#include "wire/messages/fetch_request.h"
#include "wire/messages/fetch_response.h"
#include "wire/messages/init_producer_id_request.h"
#include "wire/messages/init_producer_id_response.h"
#include "wire/messages/list_offsets_request.h"
#include "wire/messages/list_offsets_response.h"
#include "wire/messages/metadata_request.h"
#include "wire/messages/metadata_response.h"
#include "wire/messages/partition_change_record.h"
#include "wire/messages/produce_request.h"
#include "wire/messages/produce_response.h"

namespace castellan::broker {
namespace {

Bytes batch_of(std::initializer_list<std::string_view> values, record::BatchOptions options = {}) {
  record::BatchBuilder builder(options);
  for (const auto value : values) builder.append(1'700'000'000'000, std::nullopt, as_bytes(value));
  return builder.finish();
}

wire::ProduceRequest produce(const std::string& topic, int32_t partition, BytesView records, int16_t acks = -1) {
  wire::ProduceRequest request;
  request.acks = acks;
  request.timeout_ms = 1000;
  auto& data = request.topic_data.emplace_back();
  data.name = topic;
  auto& part = data.partition_data.emplace_back();
  part.index = partition;
  part.records = wire::Records::of(records);
  return request;
}

wire::FetchRequest fetch(const std::string& topic, int32_t partition, int64_t offset, int32_t min_bytes = 1, int32_t max_wait_ms = 500) {
  wire::FetchRequest request;
  request.min_bytes = min_bytes;
  request.max_wait_ms = max_wait_ms;
  request.max_bytes = 1 << 20;
  auto& asked = request.topics.emplace_back();
  asked.topic = topic;
  auto& part = asked.partitions.emplace_back();
  part.partition = partition;
  part.fetch_offset = offset;
  part.partition_max_bytes = 1 << 20;
  return request;
}

std::vector<std::string> values_of(const wire::FetchResponse& response) {
  std::vector<std::string> values;
  record::BatchScanner scanner(response.responses.at(0).partitions.at(0).records.view);
  while (auto batch = *scanner.next()) {
    EXPECT_TRUE(batch->crc_valid());
    record::RecordReader reader(*batch);
    record::Record record;
    while (*reader.next(record)) values.emplace_back(as_text(*record.value));
  }
  return values;
}

ErrorCode error_of(const wire::ProduceResponse& response) { return static_cast<ErrorCode>(response.responses.at(0).partition_responses.at(0).error_code); }
ErrorCode error_of(const wire::FetchResponse& response) { return static_cast<ErrorCode>(response.responses.at(0).partitions.at(0).error_code); }

TEST(Broker, registers_opens_its_logs_and_is_unfenced) {
  TestBroker test;
  test.start();
  EXPECT_TRUE(test.ready);
  EXPECT_EQ(test.failure, "");
}

TEST(Broker, what_was_produced_is_fetched_by_the_batch) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  const auto first = test.call<wire::ProduceResponse>(produce("t", 0, batch_of({"a", "b"})), 9);
  EXPECT_EQ(first.responses.at(0).partition_responses.at(0).base_offset, 0);
  const auto second = test.call<wire::ProduceResponse>(produce("t", 0, batch_of({"c"})), 9);
  EXPECT_EQ(second.responses.at(0).partition_responses.at(0).base_offset, 2);
  EXPECT_EQ(values_of(test.call<wire::FetchResponse>(fetch("t", 0, 0), 12)), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(values_of(test.call<wire::FetchResponse>(fetch("t", 0, 1), 12)), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(values_of(test.call<wire::FetchResponse>(fetch("t", 0, 2), 12)), (std::vector<std::string>{"c"}));
}

TEST(Broker, counts_records_bytes_and_refusals) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  auto& metrics = test.broker->metrics();
  const Bytes batch = batch_of({"a", "b"});
  test.call<wire::ProduceResponse>(produce("t", 0, batch), 9);
  test.call<wire::ProduceResponse>(produce("t", 7, batch), 9);
  EXPECT_EQ(metrics.messages_in.value(), 2u);
  EXPECT_EQ(metrics.bytes_in.value(), batch.size());
  EXPECT_EQ(metrics.produce_requests.value(), 2u);
  EXPECT_EQ(metrics.failed_produce_requests.value(), 1u);
  test.call<wire::FetchResponse>(fetch("t", 0, 0), 12);
  test.call<wire::FetchResponse>(fetch("t", 0, 9), 12);
  EXPECT_EQ(metrics.bytes_out.value(), batch.size());
  EXPECT_EQ(metrics.fetch_requests.value(), 2u);
  EXPECT_EQ(metrics.failed_fetch_requests.value(), 1u);
}

TEST(Broker, a_fetch_at_the_end_waits_until_data_comes) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  const auto waiting = test.send(fetch("t", 0, 0), 12);
  EXPECT_FALSE(waiting->answered());
  test.call<wire::ProduceResponse>(produce("t", 0, batch_of({"late"})), 9);
  EXPECT_EQ(values_of(TestBroker::read<wire::FetchResponse>(*waiting)), (std::vector<std::string>{"late"}));
}

TEST(Broker, a_fetch_that_waits_is_answered_empty_when_its_time_is_over) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  const auto waiting = test.send(fetch("t", 0, 0), 12);
  test.pass(std::chrono::milliseconds(499));
  EXPECT_FALSE(waiting->answered());
  test.pass(std::chrono::milliseconds(1));
  EXPECT_TRUE(values_of(TestBroker::read<wire::FetchResponse>(*waiting)).empty());
}

TEST(Broker, a_fetch_waits_for_as_many_bytes_as_it_asks_for) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  const Bytes batch = batch_of({"x"});
  const auto waiting = test.send(fetch("t", 0, 0, static_cast<int32_t>(2 * batch.size())), 12);
  test.call<wire::ProduceResponse>(produce("t", 0, batch), 9);
  EXPECT_FALSE(waiting->answered());
  test.call<wire::ProduceResponse>(produce("t", 0, batch), 9);
  EXPECT_EQ(values_of(TestBroker::read<wire::FetchResponse>(*waiting)).size(), 2u);
}

TEST(Broker, who_produces_to_a_partition_without_a_leader_is_told_so_in_every_version) {
  TestBroker test;
  test.start();
  const TopicId id = test.create_topic("t", 1);
  wire::PartitionChangeRecord change;
  change.topic_id = id.value;
  change.partition_id = 0;
  change.leader = -1;
  test.apply(change, 0);
  test.publish();
  for (const int16_t version : {3, 9, 10, 12}) {
    EXPECT_EQ(error_of(test.call<wire::ProduceResponse>(produce("t", 0, batch_of({"a"})), version)), ErrorCode::NOT_LEADER_OR_FOLLOWER) << version;
  }
}

TEST(Broker, a_topic_that_is_deleted_answers_those_who_wait_for_it) {
  TestBroker test;
  test.start();
  const auto id = test.create_topic("t", 1);
  const auto waiting = test.send(fetch("t", 0, 0), 12);
  test.delete_topic(id);
  EXPECT_EQ(error_of(TestBroker::read<wire::FetchResponse>(*waiting)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(error_of(test.call<wire::ProduceResponse>(produce("t", 0, batch_of({"a"})), 9)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

TEST(Broker, a_produce_without_acknowledgement_gets_no_answer_and_an_error_closes_the_connection) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  EXPECT_TRUE(test.send(produce("t", 0, batch_of({"a"}), 0), 9)->nothing);
  EXPECT_TRUE(test.send(produce("none", 0, batch_of({"a"}), 0), 9)->closed.has_value());
}

TEST(Broker, what_a_produce_request_must_not_hold_is_refused_without_an_append) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  Bytes two = batch_of({"a"});
  std::ranges::copy(batch_of({"b"}), std::back_inserter(two));
  EXPECT_EQ(error_of(test.call<wire::ProduceResponse>(produce("t", 0, two), 9)), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(error_of(test.call<wire::ProduceResponse>(produce("t", 0, Bytes{}), 9)), ErrorCode::INVALID_RECORD);
  Bytes broken = batch_of({"a"});
  broken.back() ^= 1;
  EXPECT_EQ(error_of(test.call<wire::ProduceResponse>(produce("t", 0, broken), 9)), ErrorCode::CORRUPT_MESSAGE);
  const Bytes zstd = batch_of({"a"}, {.compression = record::Compression::zstd});
  EXPECT_EQ(error_of(test.call<wire::ProduceResponse>(produce("t", 0, zstd), 6)), ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
  EXPECT_EQ(error_of(test.call<wire::ProduceResponse>(produce("t", 0, batch_of({"a"}), 5), 9)), ErrorCode::INVALID_REQUIRED_ACKS);
  const Bytes transactional = batch_of({"a"}, {.producer_id = 5, .producer_epoch = 0, .base_sequence = 0, .transactional = true});
  EXPECT_EQ(error_of(test.call<wire::ProduceResponse>(produce("t", 0, transactional), 9)), ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  EXPECT_TRUE(values_of(test.call<wire::FetchResponse>(fetch("t", 0, 0, 1, 0), 12)).empty());
}

TEST(Broker, a_resent_batch_of_an_idempotent_producer_is_there_once) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  const Bytes batch = batch_of({"a"}, {.producer_id = 5, .producer_epoch = 0, .base_sequence = 0});
  for (int i = 0; i < 2; ++i) {
    const auto response = test.call<wire::ProduceResponse>(produce("t", 0, batch), 9);
    EXPECT_EQ(error_of(response), ErrorCode::NONE);
    EXPECT_EQ(response.responses.at(0).partition_responses.at(0).base_offset, 0);
  }
  EXPECT_EQ(values_of(test.call<wire::FetchResponse>(fetch("t", 0, 0), 12)).size(), 1u);
}

TEST(Broker, records_and_deletions_survive_a_clean_restart) {
  auto disk = std::make_shared<io::MemoryFileSystem>();
  image::Image metadata;
  {
    TestBroker test({}, disk);
    test.start();
    test.create_topic("t", 1);
    for (const auto value : {"a", "b", "c"}) test.call<wire::ProduceResponse>(produce("t", 0, batch_of({value})), 9);
    wire::DeleteRecordsRequest remove;
    remove.topics.push_back({.name = "t", .partitions = {{.partition_index = 0, .offset = 1}}});
    EXPECT_EQ(test.call<wire::DeleteRecordsResponse>(remove, 1).topics.at(0).partitions.at(0).low_watermark, 1);
    metadata = test.image;
    bool done = false;
    test.broker->begin_shutdown([&] { done = true; });
    test.loop.run();
    EXPECT_TRUE(done);
  }
  TestBroker test({}, disk);
  test.image = metadata;
  test.start();
  EXPECT_EQ(values_of(test.call<wire::FetchResponse>(fetch("t", 0, 1), 12)), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(error_of(test.call<wire::FetchResponse>(fetch("t", 0, 0), 12)), ErrorCode::OFFSET_OUT_OF_RANGE);
}

TEST(Broker, damage_of_a_time_before_is_found_without_a_reader_and_named_and_counted) {
  auto disk = std::make_shared<io::MemoryFileSystem>();
  image::Image metadata;
  {
    TestBroker test({}, disk);
    test.start();
    test.create_topic("t", 2);
    for (const auto value : {"a", "b", "c"}) test.call<wire::ProduceResponse>(produce("t", 0, batch_of({value})), 9);
    test.call<wire::ProduceResponse>(produce("t", 1, batch_of({"x"})), 9);
    metadata = test.image;
    test.broker->begin_shutdown([] {});
    test.loop.run();
  }
  auto file = *disk->open("/data/t-0/00000000000000000000.log", io::OpenMode::read_write);
  const size_t batch = batch_of({"a"}).size();
  Bytes flipped(1);
  ASSERT_TRUE(file->read_at(2 * batch - 1, flipped).has_value());
  flipped[0] ^= 1;
  ASSERT_TRUE(file->write_at(2 * batch - 1, flipped).has_value());

  TestBroker test({}, disk);
  test.image = metadata;
  test.start();
  for (int i = 0; i < 10; ++i) test.pass(std::chrono::milliseconds(1));
  EXPECT_EQ(test.broker->metrics().damage_found.value(), 1u);
  auto& damaged = *test.broker->partitions().find("t", 0).partition;
  ASSERT_EQ(damaged.log()->damaged_ranges().size(), 1u);
  EXPECT_EQ(damaged.log()->damaged_ranges()[0].first_offset, 1);
  EXPECT_FALSE(damaged.log()->begin_verify(1)) << "all is checked";
  EXPECT_FALSE(test.broker->partitions().find("t", 1).partition->log()->begin_verify(1));
  EXPECT_EQ(values_of(test.call<wire::FetchResponse>(fetch("t", 0, 0), 12)), (std::vector<std::string>{"a"}));
  EXPECT_EQ(error_of(test.call<wire::FetchResponse>(fetch("t", 0, 1), 12)), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(values_of(test.call<wire::FetchResponse>(fetch("t", 0, 2), 12)), (std::vector<std::string>{"c"}));
  EXPECT_EQ(values_of(test.call<wire::FetchResponse>(fetch("t", 1, 0), 12)), (std::vector<std::string>{"x"}));
  EXPECT_EQ(test.broker->metrics().damage_found.value(), 1u) << "counted once";
}

TEST(Broker, what_was_deleted_stays_deleted_after_a_crash) {
  auto disk = std::make_shared<io::MemoryFileSystem>();
  image::Image metadata;
  {
    TestBroker test({}, disk);
    test.start();
    test.create_topic("t", 1);
    for (const auto value : {"a", "b"}) test.call<wire::ProduceResponse>(produce("t", 0, batch_of({value})), 9);
    wire::DeleteRecordsRequest remove;
    remove.topics.push_back({.name = "t", .partitions = {{.partition_index = 0, .offset = -1}}});
    EXPECT_EQ(test.call<wire::DeleteRecordsResponse>(remove, 1).topics.at(0).partitions.at(0).low_watermark, 2);
    metadata = test.image;
  }
  TestBroker test({}, disk);
  test.image = metadata;
  test.start();
  wire::ListOffsetsRequest ask;
  ask.replica_id = -1;
  ask.topics.push_back({.name = "t", .partitions = {{.partition_index = 0, .timestamp = -2}}});
  EXPECT_EQ(test.call<wire::ListOffsetsResponse>(ask, 7).topics.at(0).partitions.at(0).offset, 2);
}

TEST(Broker, a_lost_folder_is_not_replaced_by_an_empty_one) {
  auto disk = std::make_shared<io::MemoryFileSystem>();
  image::Image metadata;
  {
    TestBroker test({}, disk);
    test.start();
    test.create_topic("t", 2);
    test.call<wire::ProduceResponse>(produce("t", 0, batch_of({"a"})), 9);
    metadata = test.image;
    test.broker->begin_shutdown([] {});
    test.loop.run();
  }
  TestBroker::must(disk->remove_all("/data/t-0"));
  TestBroker test({}, disk);
  test.image = metadata;
  test.start();
  EXPECT_EQ(error_of(test.call<wire::FetchResponse>(fetch("t", 0, 0), 12)), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(error_of(test.call<wire::ProduceResponse>(produce("t", 1, batch_of({"b"})), 9)), ErrorCode::NONE);
}

TEST(Broker, what_was_acknowledged_survives_a_power_cut_with_its_folder_once_it_is_synced) {
  auto disk = std::make_shared<io::MemoryFileSystem>();
  image::Image metadata;
  {
    TestBroker test({}, disk);
    test.start();
    test.create_topic("t", 2, {{"flush.messages", "1"}});
    test.call<wire::ProduceResponse>(produce("t", 0, batch_of({"a"})), 9);
    metadata = test.image;
  }
  disk->crash();
  TestBroker test({}, disk);
  test.image = metadata;
  test.start();
  EXPECT_EQ(values_of(test.call<wire::FetchResponse>(fetch("t", 0, 0), 12)), (std::vector<std::string>{"a"}));
  // The other one had no records: it is made anew, and nothing is missing.
  EXPECT_EQ(error_of(test.call<wire::FetchResponse>(fetch("t", 1, 0, 1, 0), 12)), ErrorCode::NONE);
}

TEST(Broker, a_folder_that_the_metadata_does_not_know_is_kept_as_a_stray) {
  auto disk = std::make_shared<io::MemoryFileSystem>();
  {
    TestBroker test({}, disk);
    test.start();
    test.create_topic("t", 1);
    test.broker->begin_shutdown([] {});
    test.loop.run();
  }
  TestBroker test({}, disk);
  test.start();
  bool stray = false;
  const auto entries = *disk->list("/data");
  for (const auto& entry : entries) stray |= entry.name.starts_with("t-0.") && entry.name.ends_with("-stray");
  EXPECT_TRUE(stray);
}

TEST(Broker, a_full_disk_takes_the_directory_offline_and_the_node_says_why) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1);
  test.files->set_capacity(1);
  const auto response = test.call<wire::ProduceResponse>(produce("t", 0, batch_of({"a"})), 9);
  EXPECT_EQ(error_of(response), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_NE(test.failure.find("/data"), std::string::npos);
}

TEST(Broker, producer_ids_come_from_blocks_of_the_controller) {
  TestBroker test;
  test.start();
  wire::InitProducerIdRequest ask;
  ask.transactional_id.reset();
  std::set<int64_t> ids;
  for (int i = 0; i < 2500; ++i) ids.insert(test.call<wire::InitProducerIdResponse>(ask, 4).producer_id);
  EXPECT_EQ(ids.size(), 2500u);
  ask.transactional_id = "tx";
  EXPECT_EQ(test.call<wire::InitProducerIdResponse>(ask, 4).error_code, static_cast<int16_t>(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED));
}

TEST(Broker, metadata_of_an_unknown_topic_asks_the_controller_for_it_once) {
  TestBroker test;
  test.start();
  test.controller.requests.clear();
  wire::MetadataRequest ask;
  ask.topics.emplace().push_back({.name = "new"});
  for (int i = 0; i < 2; ++i) {
    auto request = std::make_shared<TestRequest>(wire::MetadataRequest::info(), &ask, int16_t{9});
    test.broker->handle(request);
    EXPECT_EQ(TestBroker::read<wire::MetadataResponse>(*request).topics.at(0).error_code, static_cast<int16_t>(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  }
  EXPECT_EQ(std::ranges::count(test.controller.requests, 19, &ControllerRequest::api_key), 1);
}

TEST(Broker, a_request_that_cannot_be_read_closes_its_connection) {
  TestBroker test;
  test.start();
  wire::MetadataRequest ask;
  ask.topics.emplace();
  auto request = std::make_shared<TestRequest>(wire::MetadataRequest::info(), &ask, int16_t{1});
  request->start_.version = 9;
  test.broker->handle(request);
  EXPECT_TRUE(request->closed.has_value());
}

TEST(Apis, are_ordered_by_key_and_within_what_kafka_declares) {
  int16_t last = -1;
  for (const auto& api : apis()) {
    const auto key = static_cast<int16_t>(api.key);
    EXPECT_GT(key, last);
    last = key;
    const auto* declared = wire::find_api(key);
    ASSERT_NE(declared, nullptr);
    EXPECT_GE(api.served.first, declared->valid.first) << declared->name;
    EXPECT_LE(api.served.last, declared->valid.last) << declared->name;
    EXPECT_TRUE(declared->listeners & wire::LISTENER_BROKER) << declared->name;
  }
}

}  // namespace
}  // namespace castellan::broker

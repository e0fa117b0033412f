// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/compaction.h"

#include <gtest/gtest.h>

#include "broker/partitions.h"
#include "broker/test_broker.h"
#include "record/builder.h"
#include "record/reader.h"
#include "wire/messages/produce_request.h"
#include "wire/messages/produce_response.h"

namespace castellan::broker {
namespace {

void produce(TestBroker& test, std::string_view key, std::string_view value) {
  record::BatchBuilder builder({});
  builder.append(test.clock.wall().milliseconds, as_bytes(key), as_bytes(value));
  const Bytes batch = builder.finish();
  wire::ProduceRequest request;
  request.acks = -1;
  auto& topic = request.topic_data.emplace_back();
  topic.name = "t";
  topic.partition_data.push_back({.index = 0, .records = wire::Records::of(batch)});
  ASSERT_EQ(test.call<wire::ProduceResponse>(request, 9).responses.at(0).partition_responses.at(0).error_code, 0);
}

std::map<std::string, int> keys_in(TestBroker& test) {
  std::map<std::string, int> keys;
  auto& log = *test.broker->partitions().find("t", 0).partition->log();
  for (int64_t offset = log.log_start_offset(); offset < log.log_end_offset();) {
    auto data = log.read(offset, 1 << 20, log.log_end_offset(), true);
    const Bytes bytes = *data->load();
    record::BatchScanner scanner(bytes);
    while (auto batch = *scanner.next()) {
      record::RecordReader reader(*batch);
      record::Record record;
      while (*reader.next(record)) ++keys[std::string(as_text(*record.key))];
      offset = batch->next_offset();
    }
  }
  return keys;
}

TEST(Compaction, keeps_the_last_of_each_key_and_remembers_how_far_it_came) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1, {{"cleanup.policy", "compact"}, {"segment.ms", "1"}, {"min.cleanable.dirty.ratio", "0"}});
  for (int i = 0; i < 10; ++i) {
    produce(test, "a", "x");
    produce(test, "b", "y");
    test.clock.advance(std::chrono::milliseconds(5));  // the next record opens a new segment
  }
  EXPECT_EQ(keys_in(test).at("a"), 10);
  test.pass(std::chrono::seconds(16));
  const auto keys = keys_in(test);
  EXPECT_LE(keys.at("a"), 3);
  EXPECT_GE(keys.at("a"), 1);
  EXPECT_TRUE(test.files->exists("/data/cleaner-offset-checkpoint"));
}

TEST(Compaction, leaves_a_log_alone_whose_policy_is_deletion) {
  TestBroker test;
  test.start();
  test.create_topic("t", 1, {{"segment.ms", "1"}, {"min.cleanable.dirty.ratio", "0"}});
  for (int i = 0; i < 5; ++i) {
    produce(test, "a", "x");
    test.clock.advance(std::chrono::milliseconds(5));
  }
  test.pass(std::chrono::seconds(16));
  EXPECT_EQ(keys_in(test).at("a"), 5);
}

}  // namespace
}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/record_frame.h"

#include <gtest/gtest.h>

#include "wire/messages/offset_commit_key.h"
#include "wire/messages/offset_commit_value.h"

namespace castellan::wire {
namespace {

TEST(RecordFrame, a_metadata_record_reads_back) {
  TopicRecord topic{.name = "t", .topic_id = Uuid{1, 2}};
  auto bytes = encode_metadata_record(AnyMetadataRecord(topic), 0);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(to_hex(*bytes), "01 02 00 02 74 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 02 00");
  auto decoded = decode_metadata_record(*bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(type_of(decoded->record), MetadataRecordType::TOPIC_RECORD);
  EXPECT_EQ(std::get<TopicRecord>(decoded->record), topic);
}

TEST(RecordFrame, frames_that_no_writer_writes_are_refused) {
  EXPECT_EQ(decode_metadata_record(Bytes{2, 2, 0}).error().code, ErrorCode::UNSUPPORTED_VERSION);        // frame version
  EXPECT_EQ(decode_metadata_record(Bytes{1, 99, 0}).error().code, ErrorCode::UNSUPPORTED_VERSION);       // type
  EXPECT_EQ(decode_metadata_record(Bytes{1, 2, 9}).error().code, ErrorCode::UNSUPPORTED_VERSION);        // version
  EXPECT_FALSE(decode_metadata_record(Bytes{1, 20, 0}));                                                 // cut
  EXPECT_FALSE(decode_metadata_record(Bytes{}));
  EXPECT_TRUE(decode_metadata_record(Bytes{1, 20, 0, 0}));                                               // NoOpRecord
  EXPECT_EQ(decode_metadata_record(Bytes{1, 20, 0, 0, 0}).error().message, "1 bytes follow a NoOpRecord");
  EXPECT_FALSE(decode_metadata_record(Bytes{0x81, 0, 20, 0, 0}));                                        // overlong varint
}

TEST(RecordFrame, a_coordinator_record_reads_back) {
  OffsetCommitKey key{.group = "g", .topic = "t", .partition = 3};
  auto key_bytes = encode_coordinator_key(key);
  ASSERT_TRUE(key_bytes);
  EXPECT_EQ(to_hex(*key_bytes), "00 01 00 01 67 00 01 74 00 00 00 03");
  EXPECT_EQ(*coordinator_number(*key_bytes), 1);
  EXPECT_EQ(*decode_coordinator_key<OffsetCommitKey>(*key_bytes), key);
  OffsetCommitValue value;
  value.offset = 42;
  auto value_bytes = encode_coordinator_value(value, 3);
  ASSERT_TRUE(value_bytes);
  EXPECT_EQ(decode_coordinator_value<OffsetCommitValue>(*value_bytes)->offset, 42);
  value_bytes->push_back(0);
  EXPECT_FALSE(decode_coordinator_value<OffsetCommitValue>(*value_bytes));
  EXPECT_FALSE(coordinator_number(Bytes{0}));
}

}  // namespace
}  // namespace castellan::wire

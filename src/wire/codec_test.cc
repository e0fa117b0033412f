// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/codec.h"

#include <gtest/gtest.h>

#include "wire/api.h"
#include "wire/messages/fetch_request.h"
#include "wire/messages/fetch_response.h"
#include "wire/messages/metadata_request.h"
#include "wire/messages/metadata_response.h"
#include "wire/messages/consumer_group_member_metadata_value.h"
#include "wire/messages/describe_topic_partitions_request.h"

namespace castellan::wire {
namespace {

template <class M>
std::string hex(const M& message, int16_t version) {
  auto bytes = encode_to_bytes(message, version);
  return bytes ? to_hex(*bytes, 10000) : "error: " + bytes.error().message;
}

template <class M>
M round_trip(const M& message, int16_t version) {
  auto bytes = encode_to_bytes(message, version);
  EXPECT_TRUE(bytes.has_value()) << bytes.error().message;
  auto size = encoded_size(message, version);
  EXPECT_EQ(*size, bytes->size());
  auto again = decode_exactly<M>(version, *bytes);
  EXPECT_TRUE(again.has_value()) << again.error().message;
  return again ? *again : M{};
}

TEST(Codec, classic_and_compact_forms_of_the_same_request) {
  MetadataRequest request;
  request.topics.emplace().push_back({.name = "ab"});
  EXPECT_EQ(hex(request, 4), "00 00 00 01 00 02 61 62 01");
  EXPECT_EQ(hex(request, 9), "02 03 61 62 00 01 00 00 00");
  EXPECT_EQ(round_trip(request, 4), request);
  EXPECT_EQ(round_trip(request, 12), request);
}

TEST(Codec, null_where_the_version_allows_it_and_only_there) {
  MetadataRequest request;
  request.topics.reset();
  EXPECT_EQ(hex(request, 1), "ff ff ff ff");
  EXPECT_EQ(hex(request, 0), "error: cannot write MetadataRequest version 0: topics: it is null, which this version does not allow");
  auto decoded = decode_exactly<MetadataRequest>(0, Bytes{0xff, 0xff, 0xff, 0xff});
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, "cannot read MetadataRequest version 0: topics: it is null, which this version does not allow (at byte 4)");
}

TEST(Codec, a_set_field_that_the_version_lacks_is_refused_unless_ignorable) {
  MetadataRequest request;
  request.allow_auto_topic_creation = false;
  EXPECT_EQ(hex(request, 0), "error: cannot write MetadataRequest version 0: allowAutoTopicCreation: it is set, but this version cannot carry it");
  MetadataResponse response;
  response.throttle_time_ms = 5;   // ignorable
  EXPECT_EQ(hex(response, 0), "00 00 00 00 00 00 00 00");
}

TEST(Codec, tagged_fields_are_written_when_set_in_rising_order_with_unknown_ones_between) {
  FetchRequest request;
  request.cluster_id = "c";
  request.replica_state.replica_id = 7;
  request.unknown_tagged_fields = {{5, {0xaa}}};
  const auto again = round_trip(request, 17);
  EXPECT_EQ(again, request);
  const std::string text = hex(request, 17);
  EXPECT_TRUE(text.ends_with("03 00 02 02 63 01 0d 00 00 00 07 ff ff ff ff ff ff ff ff 00 05 01 aa")) << text;
}

TEST(Codec, nullable_structs_have_a_byte_in_front_and_a_varint_when_tagged) {
  DescribeTopicPartitionsRequest request;
  EXPECT_EQ(hex(request, 0), "01 00 00 07 d0 ff 00");
  request.cursor = DescribeTopicPartitionsRequest::Cursor{.topic_name = "t", .partition_index = 1};
  EXPECT_EQ(hex(request, 0), "01 00 00 07 d0 01 02 74 00 00 00 01 00 00");
  EXPECT_EQ(round_trip(request, 0), request);
  ConsumerGroupMemberMetadataValue value;
  ASSERT_TRUE(value.classic_member_metadata.has_value());   // Kafka's default is an empty struct, not null
  value.classic_member_metadata.reset();
  EXPECT_TRUE(hex(value, 0).ends_with("01 00 01 00")) << hex(value, 0);
  EXPECT_EQ(round_trip(value, 0), value);
}

TEST(Codec, the_api_table_knows_versions_and_header_forms) {
  const ApiInfo* metadata = find_api(ApiKey::METADATA);
  ASSERT_NE(metadata, nullptr);
  EXPECT_EQ(metadata->name, "Metadata");
  EXPECT_EQ(metadata->valid, (VersionRange{0, 13}));
  EXPECT_EQ(metadata->request_header_version(8), 1);
  EXPECT_EQ(metadata->request_header_version(9), 2);
  EXPECT_EQ(metadata->response_header_version(9), 1);
  EXPECT_EQ(find_api(ApiKey::API_VERSIONS)->response_header_version(4), 0);
  EXPECT_EQ(find_api(ApiKey::STOP_REPLICA), nullptr);
  EXPECT_EQ(find_api(9999), nullptr);
  EXPECT_EQ(find_message("MetadataRequest"), &MetadataRequest::info());
  EXPECT_EQ(find_message("Nothing"), nullptr);
}

}  // namespace
}  // namespace castellan::wire

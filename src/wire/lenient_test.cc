// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What Apache Kafka takes from a client though no client should send it, and what is refused on disk all the same.

#include <gtest/gtest.h>

#include "wire/codec.h"
#include "wire/messages/api_versions_request.h"
#include "wire/messages/delete_topics_request.h"
#include "wire/messages/fetch_request.h"
#include "wire/messages/metadata_request.h"
#include "wire/messages/produce_request.h"
#include "wire/utf8.h"

namespace castellan::wire {
namespace {

template <class M>
Result<M> lenient(int16_t version, Bytes bytes) {
  Reader reader(bytes);
  return decode_as<M>(version, reader);
}
template <class M>
Result<M> strict(int16_t version, Bytes bytes) {
  return decode_exactly<M>(version, bytes);
}

// ApiVersionsRequest version 3: name, version, tagged fields.
TEST(Lenient, repeated_and_falling_tags) {
  const Bytes bytes = {2, 'a', 2, 'b', 3, 9, 1, 0xaa, 7, 0, 9, 1, 0xbb};
  auto request = lenient<ApiVersionsRequest>(3, bytes);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->unknown_tagged_fields.size(), 3u);
  EXPECT_EQ(strict<ApiVersionsRequest>(3, bytes).error().message,
            "cannot read ApiVersionsRequest version 3: taggedFields: tag 7 comes after tag 9 (at byte 10)");
}

TEST(Lenient, overlong_varints) {
  const Bytes bytes = {0x82, 0x80, 0x00, 'a', 2, 'b', 0x80, 0x00};
  auto request = lenient<ApiVersionsRequest>(3, bytes);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->client_software_name, "a");
  EXPECT_FALSE(strict<ApiVersionsRequest>(3, bytes));
  EXPECT_FALSE(lenient<ApiVersionsRequest>(3, {0x82, 0x80, 0x80, 0x80, 0x80, 0x00, 'a', 2, 'b', 0}));   // six bytes are no varint
}

TEST(Lenient, a_count_of_tagged_fields_beyond_31_bits_is_none) {
  const Bytes bytes = {2, 'a', 2, 'b', 0xff, 0xff, 0xff, 0xff, 0x0f};
  EXPECT_TRUE(lenient<ApiVersionsRequest>(3, bytes));
}

TEST(Lenient, bytes_behind_the_end) {
  EXPECT_TRUE(lenient<ApiVersionsRequest>(3, {2, 'a', 2, 'b', 0, 1, 2, 3}));
  EXPECT_EQ(strict<ApiVersionsRequest>(3, {2, 'a', 2, 'b', 0, 1, 2, 3}).error().message, "ApiVersionsRequest version 3: 3 bytes follow the end");
}

TEST(Lenient, bad_utf8_becomes_the_replacement_character) {
  auto request = lenient<ApiVersionsRequest>(3, {3, 'a', 0xff, 2, 'b', 0});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->client_software_name, "a\xef\xbf\xbd");
  EXPECT_FALSE(strict<ApiVersionsRequest>(3, {3, 'a', 0xff, 2, 'b', 0}));
}

TEST(Lenient, a_known_tag_whose_size_lies_is_read_by_its_content) {
  FetchRequest request;
  request.cluster_id = "c";
  auto bytes = encode_to_bytes(request, 17);
  ASSERT_TRUE(bytes);
  (*bytes)[bytes->size() - 3] = 1;   // says that "c" takes 1 byte
  auto again = lenient<FetchRequest>(17, *bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cluster_id, "c");
  EXPECT_FALSE(strict<FetchRequest>(17, *bytes));
}

TEST(Lenient, any_negative_length_is_null_where_null_is_allowed) {
  EXPECT_FALSE(lenient<MetadataRequest>(1, {0xff, 0xff, 0xff, 0xf0})->topics.has_value());
  EXPECT_FALSE(strict<MetadataRequest>(1, {0xff, 0xff, 0xff, 0xf0}));
  EXPECT_FALSE(lenient<MetadataRequest>(1, {0, 0, 0, 1, 0xff, 0xff}));   // a topic's name is not nullable here
}

TEST(Refused, strings_above_32767_bytes_in_flexible_versions_too) {
  Bytes bytes = {0x81, 0x80, 0x02};   // 32768 + 1
  bytes.resize(bytes.size() + 32768, 'a');
  bytes.insert(bytes.end(), {2, 'b', 0});
  auto request = lenient<ApiVersionsRequest>(3, bytes);
  ASSERT_FALSE(request);
  EXPECT_NE(request.error().message.find("a string of 32768 bytes; 32767 is the limit"), std::string::npos);
  ApiVersionsRequest long_name;
  long_name.client_software_name = std::string(32768, 'a');
  EXPECT_FALSE(encode_to_bytes(long_name, 3));
}

TEST(Refused, counts_beyond_the_bytes_that_are_left) {
  EXPECT_EQ(lenient<MetadataRequest>(1, {0x7f, 0xff, 0xff, 0xff}).error().message,
            "cannot read MetadataRequest version 1: topics: it claims 2147483647 elements, but 0 bytes are left (at byte 4)");
  EXPECT_FALSE(lenient<DeleteTopicsRequest>(4, {0x80, 0x80, 0x80, 0x80, 0x08}));          // 2^31: an overflow in Kafka's arithmetic
  EXPECT_FALSE(lenient<ProduceRequest>(3, {0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0}));
}

TEST(Refused, elements_that_take_far_more_memory_than_their_bytes) {
  Bytes bytes = {0xa8, 0xc3, 0xf0, 0x01};   // millions of names, each empty
  uint32_t count = 0;
  ASSERT_EQ(get_varint32(bytes, count), 4u);
  bytes.resize(bytes.size() + count, 1);
  auto request = lenient<DeleteTopicsRequest>(4, bytes);
  ASSERT_FALSE(request);
  EXPECT_NE(request.error().message.find("its elements take far more memory than its bytes"), std::string::npos) << request.error().message;
}

TEST(Refused, a_known_tag_in_a_version_that_lacks_it) {
  auto bytes = encode_to_bytes(FetchRequest{}, 12);
  ASSERT_TRUE(bytes);
  bytes->back() = 1;
  bytes->insert(bytes->end(), {1, 0});   // replicaState came with version 15
  EXPECT_EQ(lenient<FetchRequest>(12, *bytes).error().code, ErrorCode::INVALID_REQUEST);
}

TEST(Refused, versions_that_the_message_does_not_have) {
  EXPECT_EQ(lenient<FetchRequest>(3, {}).error().code, ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(encode_to_bytes(FetchRequest{}, 99).error().message, "FetchRequest has no version 99; it has 4 to 18");
}

TEST(Utf8, malformed_parts_are_replaced_one_by_one_as_java_does) {
  const auto replaced = [](std::string_view text) { return replace_bad_utf8(as_bytes(text)); };
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(replaced("abc"), "abc");
  EXPECT_EQ(replaced("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(replaced("\xe2\x82"), r);                       // cut: one part
  EXPECT_EQ(replaced("\xe2\x82z"), r + "z");
  EXPECT_EQ(replaced("\xc0\xaf"), r + r);                   // overlong
  EXPECT_EQ(replaced("\xed\xa0\x80"), r + r + r);           // a surrogate
  EXPECT_EQ(replaced("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(replaced("\xf5\x80"), r + r);
  EXPECT_TRUE(is_utf8(as_bytes("plain text, longer than eight")));
  EXPECT_FALSE(is_utf8(as_bytes("plain text \xff longer")));
}

}  // namespace
}  // namespace castellan::wire

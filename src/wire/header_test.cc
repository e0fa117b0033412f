// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/header.h"

#include <gtest/gtest.h>

#include "wire/messages/api_versions_request.h"
#include "wire/messages/api_versions_response.h"
#include "wire/messages/fetch_request.h"
#include "wire/messages/fetch_response.h"

namespace castellan::wire {
namespace {

Result<RequestStart> header_of(Bytes bytes) {
  Reader reader(bytes);
  return read_request_header(reader);
}

TEST(Header, request_headers_in_classic_and_flexible_form) {
  auto classic = header_of({0, 3, 0, 8, 0, 0, 0, 7, 0, 2, 'm', 'e'});
  ASSERT_TRUE(classic);
  EXPECT_EQ(classic->api->key, ApiKey::METADATA);
  EXPECT_EQ(classic->version, 8);
  EXPECT_EQ(classic->correlation_id, 7);
  EXPECT_EQ(classic->client_id, "me");
  auto flexible = header_of({0, 3, 0, 9, 0, 0, 0, 7, 0, 2, 'm', 'e', 0});
  ASSERT_TRUE(flexible);
  EXPECT_EQ(flexible->client_id, "me");
  EXPECT_FALSE(header_of({0, 3, 0, 9, 0, 0, 0, 7, 0, 2, 'm', 'e'}));   // the tagged fields are missing
}

TEST(Header, any_negative_client_id_length_is_no_client_id) {
  auto header = header_of({0, 3, 0, 8, 0, 0, 0, 7, 0xff, 0xfe});
  ASSERT_TRUE(header);
  EXPECT_EQ(header->client_id, "");
}

TEST(Header, api_versions_of_an_unknown_version_is_read_with_a_flexible_header) {
  auto header = header_of({0, 18, 0, 99, 0, 0, 0, 7, 0, 2, 'm', 'e', 0});
  ASSERT_TRUE(header);
  EXPECT_FALSE(header->version_supported);
  EXPECT_EQ(header->version, 99);
  EXPECT_FALSE(header_of({0, 18, 0, 99, 0, 0, 0, 7, 0, 2, 'm', 'e'}));
  ApiVersionsResponse response;
  response.error_code = 35;
  auto out = encode_response(*header, response);
  ASSERT_TRUE(out);
  EXPECT_EQ(to_hex(out->to_bytes()), "00 00 00 0a 00 00 00 07 00 23 00 00 00 00");
}

TEST(Header, unknown_keys_and_versions_and_short_headers_are_errors) {
  EXPECT_EQ(header_of({0x7f, 0, 0, 0, 0, 0, 0, 7, 0, 0}).error().message, "unknown API key 32512 (version 0)");
  EXPECT_EQ(header_of({0, 5, 0, 0, 0, 0, 0, 7, 0, 0}).error().code, ErrorCode::INVALID_REQUEST);   // StopReplica was removed
  EXPECT_EQ(header_of({0, 3, 0, 99, 0, 0, 0, 7, 0, 0}).error().code, ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_FALSE(header_of({0, 3}));
  EXPECT_FALSE(header_of({0, 3, 0, 8, 0, 0}));
  EXPECT_FALSE(header_of({0, 3, 0, 8, 0, 0, 0, 7, 0, 9, 'm', 'e'}));
}

TEST(Header, a_request_frame_reads_back) {
  FetchRequest request;
  request.max_wait_ms = 12;
  auto out = encode_request(17, 5, "client", request);
  ASSERT_TRUE(out);
  const Bytes bytes = out->to_bytes();
  EXPECT_EQ(load_big_endian<int32_t>(bytes.data()), static_cast<int32_t>(bytes.size()) - 4);
  Reader reader(BytesView(bytes).subspan(4));
  auto start = read_request_header(reader);
  ASSERT_TRUE(start);
  auto again = decode_as<FetchRequest>(start->version, reader);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, request);
}

TEST(Header, a_response_frame_carries_file_ranges_and_borrowed_memory_in_order) {
  FetchResponse response;
  auto& topic = response.responses.emplace_back();
  topic.topic = "t";
  auto owner = std::make_shared<const Bytes>(Bytes(5000, 0xee));
  topic.partitions.emplace_back().records = Records::of(*owner, owner);
  topic.partitions.emplace_back().records = Records::of_file({owner, 9, 4096, 100});
  topic.partitions.emplace_back().records = Records::of_bytes({1, 2, 3});
  RequestStart start{.api = find_api(ApiKey::FETCH), .version = 4, .correlation_id = 1};
  auto out = encode_response(start, response);
  ASSERT_TRUE(out);
  const auto parts = out->parts();
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts[1].memory.data(), owner->data());
  EXPECT_EQ(parts[3].file->position, 4096u);
  size_t total = 0;
  for (const auto& part : parts) total += part.file ? part.file->length : part.memory.size();
  EXPECT_EQ(total, out->size());
  EXPECT_EQ(load_big_endian<int32_t>(parts[0].memory.data()), static_cast<int32_t>(total) - 4);
  EXPECT_EQ(encoded_size(response, 4).value() + 8, total);
}

}  // namespace
}  // namespace castellan::wire

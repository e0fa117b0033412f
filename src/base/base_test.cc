// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/ids.h"
#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "base/varint.h"

namespace castellan {
namespace {

Result<int> half(int number) {
  if (number % 2) return fail(ErrorCode::INVALID_REQUEST, "{} is odd", number);
  return number / 2;
}

Result<int> quarter(int number) {
  TRY(const int once, half(number));
  TRY(const int twice, half(once));
  return twice;
}

TEST(Result, try_hands_the_value_on_or_returns_the_error) {
  EXPECT_EQ(quarter(8), 2);
  const auto odd = quarter(6);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(odd.error().message, "3 is odd");
}

TEST(Crc32c, has_the_value_of_the_standard_check_string) { EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u); }

TEST(Crc32c, goes_on_from_what_came_before) {
  const uint32_t whole = crc32c(as_bytes("the quick brown fox"));
  EXPECT_EQ(crc32c(as_bytes(" brown fox"), crc32c(as_bytes("the quick"))), whole);
}

TEST(Uuid, text_and_bytes_lead_back_to_the_same_id) {
  Prng prng(1);
  for (int i = 0; i < 1000; ++i) {
    const Uuid id = prng.uuid();
    EXPECT_EQ(Uuid::parse(id.text()), id);
    EXPECT_EQ(Uuid::from_bytes(id.bytes().data()), id);
    EXPECT_EQ(id.text().size(), 22u);
  }
  EXPECT_EQ(Uuid::zero().text(), "AAAAAAAAAAAAAAAAAAAAAA");
  EXPECT_EQ(metadata_topic_id.value.text(), "AAAAAAAAAAAAAAAAAAAAAQ");
}

TEST(Uuid, text_that_is_no_id_is_refused_by_name) {
  EXPECT_FALSE(Uuid::parse("short"));
  EXPECT_FALSE(Uuid::parse("AAAAAAAAAAAAAAAAAAAA!A"));
}

TEST(Varint, numbers_survive_both_widths) {
  uint8_t buffer[10];
  for (uint64_t value : {0ull, 1ull, 127ull, 128ull, 300ull, 0xffffffffull, ~0ull}) {
    const size_t size = put_varint(buffer, value);
    EXPECT_EQ(size, varint_size(value));
    uint64_t back = 1;
    EXPECT_EQ(get_varint64({buffer, size}, back), size);
    EXPECT_EQ(back, value);
    EXPECT_EQ(get_varint64({buffer, size - 1}, back), 0u) << "a cut number is no number";
  }
  for (int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX}) EXPECT_EQ(unzigzag(zigzag(value)), value);
}

TEST(Varint, an_endless_number_is_refused) {
  const Bytes endless(12, 0x80);
  uint32_t narrow;
  uint64_t wide;
  EXPECT_EQ(get_varint32(endless, narrow), 0u);
  EXPECT_EQ(get_varint64(endless, wide), 0u);
}

TEST(ErrorCode, names_and_retriability_are_kafkas) {
  EXPECT_EQ(error_name(ErrorCode::NOT_LEADER_OR_FOLLOWER), "NOT_LEADER_OR_FOLLOWER");
  EXPECT_EQ(error_name(static_cast<ErrorCode>(9999)), "UNKNOWN_SERVER_ERROR");
  EXPECT_TRUE(error_retriable(ErrorCode::NOT_LEADER_OR_FOLLOWER));
  EXPECT_FALSE(error_retriable(ErrorCode::INVALID_TOPIC_EXCEPTION));
}

TEST(Time, a_deadline_does_not_overflow) { EXPECT_EQ(MonotonicTime{INT64_MAX - 1} + Duration(5), MonotonicTime::never()); }

TEST(CheckDeathTest, a_failed_check_says_what_and_where) {
  EXPECT_DEATH(CHECK(1 > 2, "one is {}", 1), "CHECK failed: 1 > 2 \\(one is 1\\) at .*base_test.cc");
}

TEST(Base64, pads_as_the_standard_does) {
  EXPECT_EQ(to_base64(as_bytes("a")), "YQ==");
  EXPECT_EQ(to_base64(as_bytes("ab")), "YWI=");
  EXPECT_EQ(to_base64(as_bytes("abc")), "YWJj");
}

}  // namespace
}  // namespace castellan

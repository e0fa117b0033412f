// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "record/validate.h"

#include <gtest/gtest.h>

#include "record/builder.h"
#include "record/reader.h"

namespace castellan::record {
namespace {

constexpr WallTime now{1'000'000'000'000};

Bytes batch_of(BatchOptions options, std::vector<std::pair<std::optional<std::string>, int64_t>> records) {
  BatchBuilder builder(options);
  for (const auto& [key, timestamp] : records)
    builder.append(timestamp, key ? std::optional(as_bytes(*key)) : std::nullopt, as_bytes("a value that is the same again and again and again"));
  return builder.finish();
}

Bytes good(Compression codec = Compression::none) { return batch_of({.compression = codec}, {{"a", now.milliseconds}, {"b", -1}, {"c", now.milliseconds - 5}}); }

ErrorCode outcome(Bytes bytes, const ProduceRules& rules = {.topic_partition = "t-0"}) {
  const auto result = validate_produce(bytes, rules, now);
  return result ? ErrorCode::NONE : result.error().error.code;
}

template <class T>
Bytes with(Bytes bytes, size_t at, T value, bool fix_crc = true) {
  store_big_endian<T>(bytes.data() + at, value);
  if (fix_crc) set_crc(bytes);
  return bytes;
}

TEST(Validate, a_good_batch_stays_where_it_lies) {
  for (const Compression codec : {Compression::none, Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd}) {
    Bytes bytes = good(codec);
    const Bytes before = bytes;
    const auto result = validate_produce(bytes, {}, now);
    ASSERT_TRUE(result.has_value()) << result.error().error.message;
    EXPECT_EQ(result->batch.data(), bytes.data());
    EXPECT_EQ(bytes, before);
    EXPECT_EQ(result->max_timestamp, now.milliseconds);
    EXPECT_EQ(result->log_append_time, -1);
  }
}

TEST(Validate, the_shape_of_the_request) {
  Bytes two = good();
  const Bytes one = good();
  two.insert(two.end(), one.begin(), one.end());
  EXPECT_EQ(outcome(two), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(outcome({}), ErrorCode::INVALID_RECORD);
  two.resize(one.size() + 30);
  EXPECT_EQ(outcome(two), ErrorCode::NONE);  // a tail too short for a batch
  EXPECT_EQ(outcome(with<int8_t>(good(), header::magic, 1, false)), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(outcome(with<int8_t>(good(), header::magic, 3, false)), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(outcome(with<int8_t>(good(), header::magic, -1, false)), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(outcome(with<uint32_t>(good(), header::crc, 1, false)), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(outcome(with<int32_t>(good(), header::length, 48, false)), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(outcome(with<int32_t>(good(), header::length, -5, false)), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(outcome(with<int64_t>(good(), header::base_offset, 1, false)), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(outcome(with<int32_t>(good(), header::records_count, 2)), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(outcome(with<int32_t>(good(), header::records_count, 0)), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(outcome(with<int32_t>(good(), header::last_offset_delta, -1)), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(outcome(with<int16_t>(good(), header::attributes, control_bit)), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(outcome(with<int64_t>(good(), header::producer_id, 5)), ErrorCode::INVALID_RECORD);
  for (int16_t codec = 5; codec < 8; ++codec) EXPECT_EQ(outcome(with<int16_t>(good(), header::attributes, codec)), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(outcome(with<int16_t>(good(), header::attributes, 1)), ErrorCode::CORRUPT_MESSAGE);  // no gzip stream
  EXPECT_EQ(outcome(with<int16_t>(good(), header::attributes, 4)), ErrorCode::CORRUPT_MESSAGE);  // no zstd frame
  EXPECT_EQ(outcome(good(Compression::zstd), {.zstd_allowed = false}), ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
}

TEST(Validate, a_batch_may_be_exactly_as_large_as_the_limit) {
  const Bytes bytes = good();
  EXPECT_EQ(outcome(bytes, {.max_message_bytes = static_cast<int32_t>(bytes.size())}), ErrorCode::NONE);
  EXPECT_EQ(outcome(bytes, {.max_message_bytes = static_cast<int32_t>(bytes.size()) - 1}), ErrorCode::MESSAGE_TOO_LARGE);
  EXPECT_EQ(outcome(bytes, {.segment_bytes = static_cast<int32_t>(bytes.size()) - 1}), ErrorCode::RECORD_LIST_TOO_LARGE);
  // After recompression too.
  const Bytes small = good(Compression::gzip);
  ASSERT_LT(small.size(), bytes.size());
  EXPECT_EQ(outcome(small, {.compression = Compression::none, .max_message_bytes = static_cast<int32_t>(bytes.size())}), ErrorCode::NONE);
  EXPECT_EQ(outcome(small, {.compression = Compression::none, .max_message_bytes = static_cast<int32_t>(bytes.size()) - 1}), ErrorCode::MESSAGE_TOO_LARGE);
}

TEST(Validate, a_compacted_topic_wants_keys_and_says_which_record_has_none) {
  Bytes bytes = batch_of({}, {{"a", 1}, {"b", 1}, {std::nullopt, 1}});
  const auto result = validate_produce(bytes, {.topic_partition = "t-0", .compacted = true}, now);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().error.code, ErrorCode::INVALID_RECORD);
  ASSERT_EQ(result.error().record_errors.size(), 1u);
  EXPECT_EQ(result.error().record_errors[0].batch_index, 2);
  EXPECT_EQ(result.error().record_errors[0].message, "Compacted topic cannot accept message without key in topic partition t-0");
}

TEST(Validate, timestamps_outside_the_bounds_are_refused_and_minus_one_passes) {
  const auto at = [](int64_t timestamp) { return batch_of({}, {{"a", timestamp}}); };
  const ProduceRules rules{.timestamp_before_max_ms = 1000, .timestamp_after_max_ms = 500};
  EXPECT_EQ(outcome(at(-1), rules), ErrorCode::NONE);
  EXPECT_EQ(outcome(at(now.milliseconds - 1000), rules), ErrorCode::NONE);
  EXPECT_EQ(outcome(at(now.milliseconds - 1001), rules), ErrorCode::INVALID_TIMESTAMP);
  EXPECT_EQ(outcome(at(now.milliseconds + 500), rules), ErrorCode::NONE);
  EXPECT_EQ(outcome(at(now.milliseconds + 501), rules), ErrorCode::INVALID_TIMESTAMP);
  EXPECT_EQ(outcome(at(INT64_MAX), rules), ErrorCode::INVALID_TIMESTAMP);
  EXPECT_EQ(outcome(at(INT64_MIN), rules), ErrorCode::INVALID_TIMESTAMP);
  // One timestamp error decides the code for all.
  Bytes mixed = batch_of({}, {{std::nullopt, now.milliseconds}, {"b", 1}});
  ProduceRules compacted = rules;
  compacted.compacted = true;
  const auto result = validate_produce(mixed, compacted, now);
  EXPECT_EQ(result.error().error.code, ErrorCode::INVALID_TIMESTAMP);
  EXPECT_EQ(result.error().record_errors.size(), 2u);
}

TEST(Validate, log_append_time_sets_bit_time_and_checksum) {
  for (const Compression codec : {Compression::none, Compression::lz4}) {
    Bytes bytes = good(codec);
    const auto result = validate_produce(bytes, {.timestamp_type = TimestampType::log_append_time}, now);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->log_append_time, now.milliseconds);
    const auto batch = check_batch(result->batch);
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->max_timestamp(), now.milliseconds);
    EXPECT_EQ(batch->timestamp_type(), TimestampType::log_append_time);
  }
  // A client must not set the bit itself.
  EXPECT_EQ(outcome(batch_of({.log_append_time = 5}, {{"a", 5}}), {.timestamp_type = TimestampType::log_append_time}), ErrorCode::INVALID_TIMESTAMP);
  EXPECT_EQ(outcome(batch_of({.log_append_time = -1}, {{"a", -1}})), ErrorCode::INVALID_TIMESTAMP);
  EXPECT_EQ(outcome(batch_of({.log_append_time = now.milliseconds}, {{"a", 5}})), ErrorCode::NONE);  // only range-checked
}

TEST(Validate, a_wrong_max_timestamp_is_put_right) {
  Bytes bytes = with<int64_t>(good(), header::max_timestamp, 5);
  const auto result = validate_produce(bytes, {}, now);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(check_batch(result->batch)->max_timestamp(), now.milliseconds);
}

TEST(Validate, every_codec_becomes_every_other_and_the_records_stay_equal) {
  constexpr Compression codecs[] = {Compression::none, Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd};
  for (const Compression source : codecs) {
    for (const Compression target : codecs) {
      Bytes bytes = batch_of({.compression = source, .producer_id = 4, .producer_epoch = 1, .base_sequence = 17}, {{"a", 5}, {"b", 7}, {"c", 6}});
      Bytes original = bytes;
      const auto result = validate_produce(bytes, {.compression = target}, now);
      ASSERT_TRUE(result.has_value()) << result.error().error.message;
      const auto batch = check_batch(result->batch);
      ASSERT_TRUE(batch.has_value());
      EXPECT_EQ(batch->compression(), target);
      EXPECT_EQ(batch->base_sequence(), 17);
      EXPECT_EQ(batch->max_timestamp(), 7);
      RecordReader before{BatchView(original)}, after(*batch);
      Record a, b;
      while (*before.next(a)) {
        ASSERT_TRUE(*after.next(b));
        EXPECT_EQ(a.timestamp, b.timestamp);
        EXPECT_TRUE(std::ranges::equal(*a.key, *b.key));
        EXPECT_TRUE(std::ranges::equal(*a.value, *b.value));
      }
      EXPECT_FALSE(*after.next(b));
    }
  }
}

TEST(Validate, gaps_inside_a_compressed_batch_are_counted_anew) {
  BatchBuilder builder({.compression = Compression::gzip});
  builder.append_at(0, 1, as_bytes("a"), std::nullopt);
  builder.append_at(2, 1, as_bytes("b"), std::nullopt);
  Bytes bytes = with<int32_t>(builder.finish(), header::last_offset_delta, 1);
  const auto result = validate_produce(bytes, {}, now);
  ASSERT_TRUE(result.has_value()) << result.error().error.message;
  EXPECT_FALSE(result->rebuilt.empty());
  RecordReader reader{BatchView(result->batch)};
  Record record;
  for (int32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(*reader.next(record));
    EXPECT_EQ(record.offset_delta, i);
  }
}

TEST(Validate, a_bomb_is_walked_in_bounded_memory) {
  const Bytes zeros(100 << 20);
  BatchBuilder builder({.compression = Compression::zstd});
  builder.append(1, as_bytes("k"), zeros);
  Bytes bytes = builder.finish();
  ASSERT_LT(bytes.size(), 100'000u);
  EXPECT_EQ(outcome(bytes), ErrorCode::NONE);  // a legal batch, never held in memory
  EXPECT_EQ(outcome(bytes, {.compression = Compression::none}), ErrorCode::MESSAGE_TOO_LARGE);
}

}  // namespace
}  // namespace castellan::record

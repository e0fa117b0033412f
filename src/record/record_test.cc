// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Batches: built, read, patched, refused.

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/prng.h"
#include "base/varint.h"
#include "record/builder.h"
#include "record/control.h"
#include "record/reader.h"
#include "wire/messages/leader_change_message.h"

namespace castellan::record {
namespace {

struct Copy {
  int64_t offset;
  int64_t timestamp;
  std::optional<Bytes> key, value;
  std::vector<std::pair<std::string, std::optional<Bytes>>> headers;
  friend bool operator==(const Copy&, const Copy&) = default;
};

Result<std::vector<Copy>> read_all(BytesView bytes) {
  TRY(const BatchView batch, check_batch(bytes));
  RecordReader reader(batch);
  std::vector<Copy> copies;
  Record record;
  for (;;) {
    TRY(const bool more, reader.next(record));
    if (!more) break;
    Copy copy{record.offset, record.timestamp, {}, {}, {}};
    if (record.key) copy.key = to_bytes(*record.key);
    if (record.value) copy.value = to_bytes(*record.value);
    for (const Header& header : record.headers()) {
      copy.headers.emplace_back(header.key, std::nullopt);
      if (header.value) copy.headers.back().second = to_bytes(*header.value);
    }
    copies.push_back(std::move(copy));
  }
  TRY_VOID(reader.finish());
  return copies;
}

Bytes sample(Compression codec, std::vector<Copy>* expected = nullptr) {
  Prng random(7);
  BatchBuilder builder({.base_offset = 1000, .leader_epoch = 5, .compression = codec, .producer_id = 9, .producer_epoch = 2, .base_sequence = 3});
  for (int i = 0; i < 200; ++i) {
    Copy copy{1000 + i, 1'700'000'000'000 + random.between(-5000, 5000), {}, {}, {}};
    if (i % 3) copy.key = to_bytes(fmt::format("key-{}", random.below(40)));
    if (i % 5) copy.value = Bytes(random.below(2000), static_cast<uint8_t>('a' + i % 26));
    if (i % 7 == 0) copy.headers = {{"trace", to_bytes("x")}, {"null", std::nullopt}, {"\xc3\xa4", Bytes{}}};
    std::vector<Header> headers;
    for (const auto& [key, value] : copy.headers) headers.push_back({key, value ? std::optional<BytesView>(*value) : std::nullopt});
    builder.append(copy.timestamp, copy.key ? std::optional<BytesView>(*copy.key) : std::nullopt,
                   copy.value ? std::optional<BytesView>(*copy.value) : std::nullopt, headers);
    if (expected) expected->push_back(std::move(copy));
  }
  return builder.finish();
}

constexpr Compression all_codecs[] = {Compression::none, Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd};

TEST(Record, what_is_built_is_read_back_with_every_codec) {
  for (const Compression codec : all_codecs) {
    std::vector<Copy> expected;
    const Bytes bytes = sample(codec, &expected);
    const auto read = read_all(bytes);
    ASSERT_TRUE(read.has_value()) << compression_name(codec) << ": " << read.error().message;
    EXPECT_EQ(*read, expected) << compression_name(codec);
    const BatchView batch(bytes);
    EXPECT_EQ(batch.base_offset(), 1000);
    EXPECT_EQ(batch.last_offset(), 1199);
    EXPECT_EQ(batch.records_count(), 200);
    EXPECT_EQ(batch.last_sequence(), 202);
    EXPECT_EQ(batch.size(), bytes.size());
  }
}

TEST(Record, sizes_are_the_same_without_the_values_in_memory) {
  for (const Compression codec : all_codecs) {
    const Bytes bytes = sample(codec);
    RecordReader whole{BatchView(bytes)}, sizes(BatchView(bytes), Detail::sizes);
    Record a, b;
    while (*whole.next(a)) {
      ASSERT_TRUE(*sizes.next(b));
      EXPECT_EQ(a.key_size, b.key_size);
      EXPECT_EQ(a.value_size, b.value_size);
      EXPECT_EQ(a.timestamp, b.timestamp);
      EXPECT_EQ(a.header_count, b.header_count);
      EXPECT_FALSE(b.value.has_value());
    }
    EXPECT_FALSE(*sizes.next(b));
    EXPECT_TRUE(sizes.finish().has_value());
  }
}

TEST(Record, offset_and_epoch_lie_outside_the_checksum_and_a_new_timestamp_inside) {
  Bytes bytes = sample(Compression::zstd);
  set_base_offset(bytes, 77);
  set_leader_epoch(bytes, 6);
  EXPECT_TRUE(check_batch(bytes).has_value());
  set_timestamps(bytes, TimestampType::log_append_time, 42);
  const auto read = read_all(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->front().offset, 77);
  for (const Copy& record : *read) EXPECT_EQ(record.timestamp, 42);
}

TEST(Record, sequences_wrap_to_zero) {
  EXPECT_EQ(sequence_plus(INT32_MAX, 1), 0);
  EXPECT_EQ(sequence_plus(INT32_MAX - 1, 3), 1);
  EXPECT_EQ(sequence_plus(1, -2), INT32_MAX);
}

TEST(Record, a_flipped_bit_anywhere_behind_the_epoch_is_found) {
  const Bytes good = sample(Compression::lz4);
  for (size_t at = 8; at < good.size(); at += at < 70 ? 1 : 97) {
    if (at >= header::leader_epoch && at < header::magic) continue;
    Bytes bad = good;
    bad[at] ^= 0x10;
    EXPECT_FALSE(check_batch(bad).has_value()) << at;
  }
}

TEST(Record, a_cut_batch_is_refused_and_never_read_beyond_its_end) {
  for (const Compression codec : all_codecs) {
    const Bytes good = sample(codec);
    for (size_t size = 0; size < good.size(); size += size < 100 ? 1 : 61) {
      const Bytes cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_FALSE(check_batch(cut).has_value());
      if (size < batch_header_size) continue;
      // The same with a header that agrees with what is left.
      Bytes lying = cut;
      store_big_endian<int32_t>(lying.data() + header::length, static_cast<int32_t>(size - batch_prefix_size));
      set_crc(lying);
      EXPECT_FALSE(read_all(lying).has_value()) << compression_name(codec) << " " << size;
    }
  }
}

TEST(Record, garbage_in_place_of_records_is_an_error) {
  Prng random(11);
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = sample(all_codecs[random.below(5)]);
    for (int flips = 0; flips < 4; ++flips) bytes[batch_header_size + random.below(std::min<size_t>(bytes.size() - batch_header_size, 200))] = static_cast<uint8_t>(random.next());
    set_crc(bytes);
    (void)read_all(bytes);  // may by chance still be readable; must not read outside, loop or allocate without bound
  }
}

TEST(Record, a_record_that_claims_more_than_there_is_costs_no_memory) {
  Bytes body(batch_header_size + 5);
  put_varint(body.data() + batch_header_size, zigzag32(INT32_MAX));
  store_big_endian<int32_t>(body.data() + header::length, static_cast<int32_t>(body.size() - batch_prefix_size));
  body[header::magic] = 2;
  store_big_endian<int32_t>(body.data() + header::records_count, 1);
  set_crc(body);
  const auto read = read_all(body);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::INVALID_RECORD);
}

TEST(Record, the_scanner_stops_at_a_cut_batch_and_names_an_impossible_one) {
  Bytes bytes = sample(Compression::none);
  const size_t first = bytes.size();
  const Bytes second = sample(Compression::gzip);
  bytes.insert(bytes.end(), second.begin(), second.end());
  bytes.resize(bytes.size() - 1);
  BatchScanner scanner(bytes);
  ASSERT_TRUE((*scanner.next()).has_value());
  EXPECT_EQ(scanner.position(), first);
  EXPECT_FALSE((*scanner.next()).has_value());
  EXPECT_EQ(scanner.remaining().size(), second.size() - 1);

  bytes[first + header::magic] = 7;
  EXPECT_EQ(scanner.next().error().code, ErrorCode::CORRUPT_MESSAGE);
  bytes[first + header::magic] = 1;
  bytes.push_back(0);
  BatchScanner whole(bytes);
  ASSERT_TRUE((*whole.next()).has_value());
  EXPECT_EQ(whole.next().error().code, ErrorCode::INVALID_RECORD);
}

TEST(Record, empty_batches_keep_offsets_and_sequences) {
  const Bytes bytes = empty_batch(BatchView(sample(Compression::gzip)));
  const auto batch = check_batch(bytes);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->base_offset(), 1000);
  EXPECT_EQ(batch->last_offset(), 1199);
  EXPECT_EQ(batch->last_sequence(), 202);
  EXPECT_EQ(batch->base_timestamp(), -1);
  EXPECT_EQ(read_all(bytes)->size(), 0u);
}

TEST(Record, a_delete_horizon_takes_the_base_timestamp_and_records_keep_theirs) {
  BatchBuilder builder({.base_offset = 5, .delete_horizon = 9'000});
  builder.append_at(6, 100, as_bytes("k"), std::nullopt);
  const Bytes bytes = builder.finish(9);
  const BatchView batch(bytes);
  EXPECT_EQ(batch.delete_horizon(), 9'000);
  EXPECT_EQ(batch.last_offset(), 9);
  EXPECT_EQ(read_all(bytes)->front().timestamp, 100);
}

TEST(Compression, a_bomb_comes_out_in_pieces) {
  const Bytes zeros(64 << 20);
  for (const Compression codec : {Compression::gzip, Compression::lz4, Compression::zstd}) {
    const Bytes packed = compress(codec, zeros);
    EXPECT_EQ(decompress(codec, packed, 1 << 20).error().code, ErrorCode::MESSAGE_TOO_LARGE);
    const auto stream = make_decompressor(codec, packed);
    Bytes piece(1000);
    EXPECT_EQ(*stream->read(piece), 1000u);
  }
}

TEST(Compression, plain_snappy_without_a_frame_is_read) {
  // 5 bytes: length 5, a literal.
  const Bytes plain = {5, 4 << 2, 'h', 'e', 'l', 'l', 'o'};
  EXPECT_EQ(as_text(*decompress(Compression::snappy, plain, 100)), "hello");
  const Bytes lying = {0xff, 0xff, 0xff, 0xff, 0x0f, 4 << 2, 'h', 'e', 'l', 'l', 'o'};
  EXPECT_EQ(decompress(Compression::snappy, lying, 100).error().code, ErrorCode::CORRUPT_MESSAGE);
}

TEST(Compression, gzip_members_and_zstd_frames_may_follow_each_other) {
  for (const Compression codec : {Compression::gzip, Compression::zstd, Compression::snappy}) {
    Bytes both = compress(codec, as_bytes("one,"));
    const Bytes second = compress(codec, as_bytes("two"));
    both.insert(both.end(), second.begin(), second.end());
    EXPECT_EQ(as_text(decompress(codec, both, 100).value_or(Bytes{})), "one,two") << compression_name(codec);
  }
}

TEST(Control, markers_and_quorum_records_are_read_back) {
  const Bytes bytes = end_transaction_batch(10, 7, 3, {.commit = true, .coordinator_epoch = 12});
  const auto batch = check_batch(bytes);
  ASSERT_TRUE(batch.has_value());
  EXPECT_TRUE(batch->is_control() && batch->is_transactional());
  EXPECT_EQ(batch->base_sequence(), -1);
  RecordReader reader(*batch);
  Record record;
  ASSERT_TRUE(*reader.next(record));
  EXPECT_EQ(*parse_end_transaction_marker(record), (EndTransactionMarker{true, 12}));

  wire::LeaderChangeMessage message;
  message.leader_id = 4;
  message.voters.resize(1);
  message.voters[0].voter_id = 4;
  const ControlRecord control{ControlType::leader_change, encode_control_value(message)};
  const Bytes change = control_batch({.base_offset = 3, .leader_epoch = 2}, 10, {&control, 1});
  RecordReader changes{BatchView(change)};
  ASSERT_TRUE(*changes.next(record));
  EXPECT_EQ(*parse_control_key(record.key), ControlType::leader_change);
  EXPECT_FALSE(parse_end_transaction_marker(record).has_value());
  wire::LeaderChangeMessage decoded;
  ASSERT_TRUE(decode_control_value(decoded, *record.value).has_value());
  EXPECT_EQ(decoded, message);
  EXPECT_FALSE(decode_control_value(decoded, record.value->first(3)).has_value());
}

TEST(Control, keys_of_later_types_are_unknown_and_short_ones_an_error) {
  EXPECT_EQ(*parse_control_key(BytesView(Bytes{0, 0, 0, 99})), ControlType::unknown);
  EXPECT_FALSE(parse_control_key(BytesView(Bytes{0, 0, 0})).has_value());
  EXPECT_FALSE(parse_control_key(std::nullopt).has_value());
}

}  // namespace
}  // namespace castellan::record

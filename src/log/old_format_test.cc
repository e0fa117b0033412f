// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Segments that Apache Kafka wrote before 0.11 are served as they lie: what has formats 0 and 1 is neither damage nor a tear.

#include <gtest/gtest.h>
#include <zlib.h>

#include "log/cleaner.h"
#include "log/log_testing.h"

namespace castellan::log {
namespace {

// One message as the old clients made them. A compressed one (codec) holds others, which nobody here looks into.
Bytes message(int64_t offset, int8_t magic, std::string_view value, int64_t timestamp = -1, int8_t codec = 0) {
  const size_t fields = magic == 0 ? 18 : 26;
  Bytes bytes(fields + 4 + 4 + value.size());
  store_big_endian<int64_t>(bytes.data(), offset);
  store_big_endian<int32_t>(bytes.data() + 8, static_cast<int32_t>(bytes.size() - 12));
  bytes[16] = static_cast<uint8_t>(magic);
  bytes[17] = static_cast<uint8_t>(codec);
  if (magic == 1) store_big_endian<int64_t>(bytes.data() + 18, timestamp);
  store_big_endian<int32_t>(bytes.data() + fields, -1);  // no key
  store_big_endian<int32_t>(bytes.data() + fields + 4, static_cast<int32_t>(value.size()));
  std::ranges::copy(as_bytes(value), bytes.begin() + static_cast<ptrdiff_t>(fields) + 8);
  store_big_endian<uint32_t>(bytes.data() + 12, static_cast<uint32_t>(::crc32(0, bytes.data() + 16, static_cast<uInt>(bytes.size() - 16))));
  return bytes;
}

class OldFormatTest : public ::testing::Test {
 protected:
  void SetUp() override {
    add(message(0, 0, ""));
    add(message(1, 0, "zero"));
    add(message(2, 1, "one", 5000));
    add(message(6, 1, "holds offsets 3 to 6", 6000, 1));
    add(message(7, 1, std::string(9000, 'x'), 7000));
    write();
  }
  void add(const Bytes& bytes) {
    positions_.push_back(content_.size());
    content_.insert(content_.end(), bytes.begin(), bytes.end());
  }
  void write() {
    ASSERT_TRUE(bench_.files.make_directories(bench_.directory).has_value());
    auto file = bench_.files.open(bench_.path("00000000000000000000.log"), io::OpenMode::create);
    ASSERT_TRUE(file.has_value() && (*file)->truncate(0).has_value() && (*file)->write_at(0, content_).has_value());
  }
  // The bytes that a reader gets who asks for one piece at `offset`.
  Bytes read(Log& log, int64_t offset) {
    auto data = log.read(offset, 1, log.log_end_offset(), true);
    EXPECT_TRUE(data.has_value()) << (data ? "" : data.error().message);
    return data ? data->load().value_or(Bytes{}) : Bytes{};
  }
  Bytes piece(size_t number) const {
    const auto begin = content_.begin() + static_cast<ptrdiff_t>(positions_[number]);
    const auto end = number + 1 < positions_.size() ? content_.begin() + static_cast<ptrdiff_t>(positions_[number + 1]) : content_.end();
    return Bytes(begin, end);
  }

  LogBench bench_;
  Bytes content_;
  std::vector<size_t> positions_;
};

TEST_F(OldFormatTest, is_served_byte_for_byte_and_the_log_goes_on_behind_it) {
  auto log = bench_.open();
  EXPECT_EQ(log->log_end_offset(), 8);
  EXPECT_TRUE(log->damaged_ranges().empty());
  EXPECT_EQ(read(*log, 0), piece(0));
  EXPECT_EQ(read(*log, 1), piece(1));
  EXPECT_EQ(read(*log, 2), piece(2));
  for (int64_t offset = 3; offset <= 6; ++offset) EXPECT_EQ(read(*log, offset), piece(3)) << offset;
  EXPECT_EQ(read(*log, 7), piece(4));
  EXPECT_EQ(bench_.append(*log, 2).first_offset, 8);
  const auto all = log->read(0, 1 << 20, log->log_end_offset(), true);
  ASSERT_TRUE(all.has_value());
  EXPECT_GT(all->length, content_.size());
  ASSERT_TRUE(log->close().has_value());

  bench_.options = {.clean_shutdown = true, .recovery_point = 10, .high_watermark = 10, .now = WallTime{7000}};
  log = bench_.open();
  EXPECT_EQ(log->log_end_offset(), 10);
  EXPECT_EQ(read(*log, 5), piece(3));
}

TEST_F(OldFormatTest, is_found_by_timestamp_message_by_message) {
  auto log = bench_.open();
  EXPECT_EQ(log->offset_for_timestamp(4000)->value().offset, 2);
  EXPECT_EQ(log->offset_for_timestamp(5001)->value().offset, 6) << "what it holds stays closed: its offset is that of the last one in it";
  EXPECT_EQ(log->offset_of_max_timestamp()->value().offset, 7);
  EXPECT_EQ(log->offset_for_timestamp(7001)->has_value(), false);
}

TEST_F(OldFormatTest, damage_is_found_by_its_checksum_and_what_follows_is_served) {
  content_[positions_[2] + 30] ^= 1;
  write();
  bench_.options = {.clean_shutdown = true, .recovery_point = 8, .high_watermark = 8, .now = WallTime{7000}};
  auto log = bench_.open();
  while (auto task = log->begin_verify(100)) {
    task->run();
    ASSERT_TRUE(log->finish_verify(*task).has_value());
  }
  ASSERT_EQ(log->damaged_ranges().size(), 1u);
  EXPECT_EQ(log->damaged_ranges()[0].position, positions_[2]);
  EXPECT_EQ(log->damaged_ranges()[0].length, positions_[3] - positions_[2]);
  EXPECT_EQ(read(*log, 1), piece(1));
  EXPECT_EQ(log->read(2, 100, 8, true).error().code, ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(read(*log, 7), piece(4));
}

TEST_F(OldFormatTest, a_torn_one_at_the_end_is_cut) {
  content_.resize(content_.size() - 1);
  write();
  auto log = bench_.open();
  EXPECT_EQ(log->log_end_offset(), 7);
  EXPECT_EQ(bench_.append(*log, 1).first_offset, 7);
}

TEST_F(OldFormatTest, is_not_compacted_and_says_why) {
  bench_.config.cleanup_compact = true;
  bench_.config.segment_bytes = 12'000;
  auto log = bench_.open();
  for (int i = 0; i < 100; ++i) bench_.append(*log, 2);
  log->set_high_watermark(log->log_end_offset());
  auto candidate = log->clean_candidate(std::nullopt, WallTime{100'000});
  ASSERT_TRUE(candidate.has_value());
  auto task = log->begin_clean(*candidate, WallTime{100'000});
  ASSERT_TRUE(task.has_value());
  OffsetMap map(1 << 20);
  const auto result = (*task)->run(map);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("old format"), std::string::npos);
}

}  // namespace
}  // namespace castellan::log

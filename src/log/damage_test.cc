// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a log makes of damaged files: nothing that was acknowledged is dropped in silence, what is whole is served, damage never.

#include <gtest/gtest.h>

#include "log/log_testing.h"
#include "log/segment.h"

namespace castellan::log {
namespace {

// Thirty-five batches of two records in segments of about eight; closed cleanly.
struct World {
  World() {
    bench_.config.segment_bytes = 800;
    bench_.config.index_interval_bytes = 150;
    auto log = bench_.open();
    for (int i = 0; i < 30; ++i) bench_.append(*log, 2, {.producer_id = 6, .producer_epoch = 1, .base_sequence = i * 2});
    EXPECT_TRUE(log->start_leader_epoch(3).has_value());
    for (int i = 30; i < 35; ++i) {
      Bytes bytes = bench_.batch(2, {.producer_id = 6, .producer_epoch = 1, .base_sequence = i * 2});
      EXPECT_TRUE(log->append_as_leader(bytes, 3, WallTime{1}).has_value());
    }
    log->set_high_watermark(70);
    EXPECT_TRUE(log->close().has_value());
    before_ = bench_.read_all(*log);
    segments_ = log->segments();
    log.reset();
    clean();
  }
  void clean() { bench_.options = {.clean_shutdown = true, .recovery_point = 70, .high_watermark = 70, .now = WallTime{5000}}; }
  void unclean(int64_t recovery_point = 0) { bench_.options = {.recovery_point = recovery_point, .high_watermark = 70, .now = WallTime{5000}}; }

  std::string file(size_t segment, std::string_view suffix = ".log") const { return bench_.path(segment_file_name(segments_[segment].base_offset, suffix)); }
  void flip(const std::string& path, uint64_t position) {
    auto file = *bench_.files.open(path, io::OpenMode::read_write);
    uint8_t byte = 0;
    (void)file->read_at(position, {&byte, 1});
    byte ^= 0x55;
    (void)file->write_at(position, {&byte, 1});
  }
  void write(const std::string& path, BytesView bytes) { ASSERT_TRUE(bench_.files.replace_file(path, bytes).has_value()); }
  void grow(const std::string& path, BytesView bytes) {
    auto file = *bench_.files.open(path, io::OpenMode::read_write);
    (void)file->write_at(*file->size(), bytes);
  }
  static std::string text(const std::vector<Notice>& notices) {
    std::string all;
    for (const Notice& notice : notices) all += notice.text + "\n";
    return all;
  }

  // Reads everything as a consumer that steps over what cannot be read; the offsets that could not.
  std::vector<int64_t> unreadable(Log& log, std::vector<Bytes>& read) {
    std::vector<int64_t> result;
    for (int64_t offset = log.log_start_offset(); offset < log.log_end_offset();) {
      const auto data = log.read(offset, 1000, log.log_end_offset(), true);
      if (!data) {
        EXPECT_EQ(data.error().code, ErrorCode::CORRUPT_MESSAGE);
        EXPECT_NE(data.error().message.find("/data/t-0/000"), std::string::npos) << data.error().message;
        result.push_back(offset++);
        continue;
      }
      const Bytes bytes = *data->load();
      record::BatchScanner scanner(bytes);
      const int64_t asked = offset;
      for (auto batch = scanner.next(); batch && *batch; batch = scanner.next()) {
        EXPECT_TRUE((*batch)->crc_valid());
        read.push_back(to_bytes((*batch)->bytes()));
        offset = (*batch)->next_offset();
      }
      if (offset == asked) {
        ADD_FAILURE() << "nothing at " << offset;
        return result;
      }
    }
    return result;
  }

  LogBench bench_;
  std::vector<Bytes> before_;
  std::vector<SegmentInfo> segments_;
};

class DamageTest : public testing::Test, protected World {};

TEST_F(DamageTest, a_torn_tail_is_cut_with_a_line) {
  for (const bool after_clean_stop : {false, true}) {
    grow(file(segments_.size() - 1), BytesView(before_[0]).first(40));
    if (after_clean_stop) clean();
    else unclean();
    auto log = bench_.open();
    EXPECT_EQ(bench_.read_all(*log), before_);
    const std::string line = text(log->take_notices());
    EXPECT_NE(line.find(file(segments_.size() - 1)), std::string::npos) << line;
    EXPECT_NE(line.find("offset 70"), std::string::npos) << line;
    EXPECT_NE(line.find("40 bytes"), std::string::npos) << line;
    EXPECT_TRUE(log->damaged_ranges().empty());
    ASSERT_TRUE(log->close().has_value());
  }
}

TEST_F(DamageTest, zeros_at_the_tail_are_cut_even_after_a_clean_stop) {
  grow(file(segments_.size() - 1), Bytes(5000));
  auto log = bench_.open();
  EXPECT_EQ(bench_.read_all(*log), before_);
  EXPECT_EQ(bench_.append(*log, 1).first_offset, 70);
}

TEST_F(DamageTest, a_flipped_byte_in_an_old_segment_costs_its_batch_and_nothing_behind) {
  for (const bool after_clean_stop : {false, true}) {
    SCOPED_TRACE(after_clean_stop);
    flip(file(1), 70);
    if (after_clean_stop) clean();
    else unclean();
    auto log = bench_.open();
    EXPECT_EQ(log->log_end_offset(), 70);
    std::vector<Bytes> read;
    const int64_t base = segments_[1].base_offset;
    EXPECT_EQ(unreadable(*log, read), (std::vector<int64_t>{base, base + 1}));
    EXPECT_EQ(read.size(), before_.size() - 1);
    ASSERT_EQ(log->damaged_ranges().size(), 1u);
    const DamagedRange& range = log->damaged_ranges()[0];
    EXPECT_EQ(range.file, file(1));
    EXPECT_EQ(range.position, 0u);
    EXPECT_EQ(range.first_offset, base);
    EXPECT_EQ(range.end_offset, base + 2);
    EXPECT_NE(text(log->take_notices()).find(file(1)), std::string::npos);
    EXPECT_EQ(bench_.append(*log, 1).first_offset, 70);
    ASSERT_TRUE(log->truncate_to(70).has_value());
    ASSERT_TRUE(log->close().has_value());
    flip(file(1), 70);  // whole again
  }
}

TEST_F(DamageTest, any_flipped_byte_of_any_segment_is_never_served) {
  for (const bool after_clean_stop : {false, true}) {
    for (size_t segment = 0; segment < segments_.size(); ++segment) {
      for (uint64_t position = 0; position < segments_[segment].size; position += segment == 0 ? 3 : 17) {
        const bool outside_the_checksum = position % 100 < 16;  // offsets and epochs
        SCOPED_TRACE(fmt::format("segment {} byte {} clean {}", segment, position, after_clean_stop));
        World fresh_world;
        fresh_world.flip(fresh_world.file(segment), position);
        if (!after_clean_stop) fresh_world.unclean();
        auto log = fresh_world.bench_.open();
        ASSERT_TRUE(log);
        std::vector<Bytes> read;
        const auto lost = fresh_world.unreadable(*log, read);
        EXPECT_GE(read.size() + 3, before_.size());
        EXPECT_LE(lost.size(), 6u);
        size_t equal = 0;
        for (const Bytes& batch : read) equal += std::ranges::count(before_, batch);
        if (!outside_the_checksum) {
          EXPECT_GE(equal + 1, read.size());  // a flipped epoch may be served; nothing else
        }
        EXPECT_GE(log->log_end_offset(), segment + 1 == segments_.size() ? 60 : 70);
      }
    }
  }
}

TEST_F(DamageTest, damage_at_the_end_below_the_recovery_point_is_no_tear) {
  const uint64_t last = segments_.back().size - before_.back().size();
  flip(file(segments_.size() - 1), last + 70);
  unclean(70);
  auto log = bench_.open();
  EXPECT_EQ(log->log_end_offset(), 70);
  std::vector<Bytes> read;
  EXPECT_EQ(unreadable(*log, read), (std::vector<int64_t>{68, 69}));
  EXPECT_EQ(bench_.append(*log, 1).first_offset, 70);
  EXPECT_EQ(log->read(70, 1000, 71, true)->length > 0, true);
}

TEST_F(DamageTest, with_other_replicas_the_log_is_cut_at_the_damage) {
  flip(file(1), 70);
  unclean();
  bench_.options.on_damage = OnDamage::cut;
  auto log = bench_.open();
  EXPECT_EQ(log->log_end_offset(), segments_[1].base_offset);
  EXPECT_EQ(bench_.read_all(*log).size(), static_cast<size_t>(segments_[1].base_offset / 2));
  EXPECT_TRUE(log->damaged_ranges().empty());
  EXPECT_EQ(log->segments().size(), 2u);
  EXPECT_EQ(log->producers().find(6)->last_sequence(), segments_[1].base_offset - 1);
}

TEST_F(DamageTest, everything_is_checked_in_slices_before_anybody_asks) {
  flip(file(2), 75);
  auto log = bench_.open();
  int slices = 0;
  while (auto task = log->begin_verify(300)) {
    task->run();
    ASSERT_TRUE(log->finish_verify(*task).has_value());
    ++slices;
  }
  EXPECT_GT(slices, 5);
  ASSERT_EQ(log->damaged_ranges().size(), 1u);
  EXPECT_EQ(log->damaged_ranges()[0].file, file(2));
}

TEST_F(DamageTest, a_segment_that_goes_while_it_is_checked_is_none_of_the_checks_business) {
  auto log = bench_.open();
  auto task = log->begin_verify(1 << 20);
  ASSERT_TRUE(task.has_value());
  ASSERT_TRUE(log->truncate_fully_and_start_at(1000).has_value());
  task->run();
  EXPECT_TRUE(log->finish_verify(*task).has_value());
  EXPECT_FALSE(log->begin_verify(1 << 20).has_value());
}

TEST_F(DamageTest, garbage_and_missing_indexes_are_made_anew) {
  for (size_t segment = 0; segment < segments_.size(); ++segment) {
    write(file(segment, ".index"), Bytes(segment % 2 ? 24 : 13, 0xab));
    write(file(segment, ".timeindex"), Bytes(36, 0xcd));
  }
  ASSERT_TRUE(bench_.files.remove(file(0, ".index")).has_value());
  ASSERT_TRUE(bench_.files.remove(file(1, ".timeindex")).has_value());
  auto log = bench_.open();
  EXPECT_EQ(bench_.read_all(*log), before_);
  for (int64_t offset = 0; offset < 70; ++offset) EXPECT_EQ(bench_.offsets(*log->read(offset, 10, 70, true)), (std::vector<int64_t>{offset / 2 * 2}));
  EXPECT_EQ(log->offset_for_timestamp(1001)->value().offset, 1);
}

TEST_F(DamageTest, preallocated_indexes_are_read) {
  for (size_t segment = 0; segment < segments_.size(); ++segment) {
    grow(file(segment, ".index"), Bytes(8000));
    grow(file(segment, ".timeindex"), Bytes(12000));
  }
  auto log = bench_.open();
  for (int64_t offset = 0; offset < 70; ++offset) EXPECT_EQ(bench_.offsets(*log->read(offset, 10, 70, true)), (std::vector<int64_t>{offset / 2 * 2}));
  for (int i = 0; i < 3; ++i) bench_.append(*log, 2);
  ASSERT_TRUE(log->close().has_value());
  EXPECT_LT(bench_.files.read_file(file(segments_.size() - 1, ".index"))->size(), 200u);
}

TEST_F(DamageTest, lost_producer_snapshots_are_made_anew_from_the_log) {
  const auto entries = bench_.files.list(bench_.directory);
  for (const auto& entry : *entries) {
    if (entry.name.ends_with(".snapshot")) {
      ASSERT_TRUE(bench_.files.remove(bench_.path(entry.name)).has_value());
    }
  }
  auto log = bench_.open();
  EXPECT_TRUE(bench_.append(*log, 2, {.producer_id = 6, .producer_epoch = 1, .base_sequence = 68}).duplicate);
}

TEST_F(DamageTest, a_broken_producer_snapshot_falls_back_to_an_older_one) {
  const std::string newest = bench_.path(segment_file_name(70, ".snapshot"));
  flip(newest, 20);
  auto log = bench_.open();
  EXPECT_TRUE(bench_.append(*log, 2, {.producer_id = 6, .producer_epoch = 1, .base_sequence = 68}).duplicate);
  EXPECT_NE(text(log->take_notices()).find(newest), std::string::npos);
}

TEST_F(DamageTest, garbage_and_lost_epochs_come_from_the_batches) {
  for (const std::string_view content : {"garbage", "0\n2\n3 60\n", "0\n2\n3 60\n1 70\n", "7\n0\n", ""}) {
    write(bench_.path("leader-epoch-checkpoint"), as_bytes(content));
    auto log = bench_.open();
    EXPECT_EQ(log->leader_epochs().entries(), (std::vector<EpochEntry>{{0, 0}, {3, 60}})) << content;
  }
  ASSERT_TRUE(bench_.files.remove(bench_.path("leader-epoch-checkpoint")).has_value());
  EXPECT_EQ(bench_.open()->leader_epochs().entries().size(), 2u);
}

TEST_F(DamageTest, epochs_beyond_the_log_are_forgotten) {
  write(bench_.path("leader-epoch-checkpoint"), as_bytes("0\n3\n0 0\n3 60\n9 80\n"));
  EXPECT_EQ(bench_.open()->leader_epochs().entries().size(), 2u);
}

TEST_F(DamageTest, a_garbage_transaction_index_is_made_anew) {
  auto log = bench_.open();
  bench_.append(*log, 1, {.producer_id = 8, .producer_epoch = 0, .base_sequence = 0, .transactional = true});
  Bytes marker = record::end_transaction_batch(1000, 8, 0, {.commit = false, .coordinator_epoch = 1});
  ASSERT_TRUE(log->append_as_leader(marker, 3, WallTime{1000}, AppendOrigin::coordinator).has_value());
  ASSERT_TRUE(log->close().has_value());
  const int64_t active = log->segments().back().base_offset;
  log.reset();
  write(bench_.path(segment_file_name(active, ".txnindex")), as_bytes("nonsense"));
  bench_.options.recovery_point = 72;
  log = bench_.open();
  EXPECT_EQ(log->aborted_transactions(70, *log->read(70, 1000, 72, true))->size(), 1u);
}

TEST_F(DamageTest, an_end_below_the_log_start_begins_anew_there) {
  bench_.options.log_start_offset = 100;
  auto log = bench_.open();
  EXPECT_EQ(log->log_start_offset(), 100);
  EXPECT_EQ(log->log_end_offset(), 100);
  EXPECT_FALSE(log->take_notices().empty());
  EXPECT_EQ(bench_.append(*log, 1).first_offset, 100);
}

TEST_F(DamageTest, a_disk_that_cannot_be_read_is_an_error_and_not_a_guess) {
  bench_.files.fail_when([&](auto operation, const std::string& path) {
    return operation == io::MemoryFileSystem::Operation::read && path == file(segments_.size() - 1) ? std::optional(5) : std::nullopt;
  });
  unclean();
  const auto log = Log::open(bench_.files, bench_.directory, bench_.config, bench_.options);
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error().code, ErrorCode::KAFKA_STORAGE_ERROR);
  bench_.files.fail_when(nullptr);
}

}  // namespace
}  // namespace castellan::log

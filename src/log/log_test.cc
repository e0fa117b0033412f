// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The life of a log: appended to, read, rolled, truncated, retained, reopened.

#include "log/log.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "log/log_testing.h"
#include "log/segment.h"

namespace castellan::log {
namespace {

class LogTest : public testing::Test {
 protected:
  LogBench bench_;
};

TEST_F(LogTest, what_is_appended_is_read_from_its_offset) {
  auto log = bench_.open();
  for (int i = 0; i < 10; ++i) {
    const auto appended = bench_.append(*log, 3);
    EXPECT_EQ(appended.first_offset, i * 3);
    EXPECT_EQ(appended.last_offset, i * 3 + 2);
  }
  EXPECT_EQ(log->log_end_offset(), 30);
  for (int64_t offset = 0; offset < 30; ++offset) {
    const auto data = log->read(offset, 1 << 20, 30, false);
    ASSERT_TRUE(data.has_value());
    const Bytes bytes = *data->load();
    const auto batch = record::check_batch(bytes);
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->base_offset(), offset / 3 * 3);
    EXPECT_EQ(batch->leader_epoch(), 0);
  }
}

TEST_F(LogTest, look_ups_far_from_the_tail_end_where_the_first_ones_did) {
  auto log = bench_.open();
  constexpr int64_t batches = 300;  // more than a segment keeps of what was appended last
  for (int64_t i = 0; i < batches; ++i) bench_.append(*log, 3);
  const auto position_of = [&](int64_t offset) { return log->read(offset, 1, batches * 3, true)->position; };
  std::vector<uint64_t> positions;
  for (int64_t offset = 0; offset < batches * 3; ++offset) positions.push_back(position_of(offset));
  EXPECT_TRUE(std::ranges::is_sorted(positions));
  for (int64_t offset = batches * 3 - 1; offset >= 0; --offset) EXPECT_EQ(position_of(offset), positions[static_cast<size_t>(offset)]) << offset;
  // Several readers at once.
  for (int64_t offset = 0; offset < 100; ++offset) {
    for (int64_t reader = 0; reader < 6; ++reader) EXPECT_EQ(position_of(offset + reader * 100), positions[static_cast<size_t>(offset + reader * 100)]);
  }
  // What was looked up is not found any more when it is gone.
  ASSERT_TRUE(*log->truncate_to(150));
  bench_.append(*log, 5);
  EXPECT_EQ(position_of(151), positions[150]);
  EXPECT_EQ(position_of(154), positions[150]);
}

TEST_F(LogTest, reads_outside_are_out_of_range_and_beyond_the_limit_empty) {
  auto log = bench_.open();
  bench_.append(*log, 5);
  bench_.append(*log, 5);
  EXPECT_EQ(log->read(11, 100, 10, true).error().code, ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(log->read(-1, 100, 10, true).error().code, ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(log->read(10, 100, 10, true)->length, 0u);
  EXPECT_EQ(log->read(7, 100, 5, true)->length, 0u);
  const auto limited = log->read(0, 1 << 20, 5, true);
  EXPECT_EQ(bench_.offsets(*limited), (std::vector<int64_t>{0}));
}

TEST_F(LogTest, the_first_batch_comes_whole_or_not_at_all) {
  auto log = bench_.open();
  bench_.append(*log, 50);
  const auto whole = log->read(0, 10, 50, true);
  EXPECT_EQ(bench_.offsets(*whole), (std::vector<int64_t>{0}));
  const auto none = log->read(0, 10, 50, false);
  EXPECT_EQ(none->length, 0u);
  EXPECT_TRUE(none->first_batch_too_large);
}

TEST_F(LogTest, segments_roll_by_size_and_reads_go_on_in_the_next) {
  bench_.config.segment_bytes = 1000;
  auto log = bench_.open();
  for (int i = 0; i < 40; ++i) bench_.append(*log, 2);
  EXPECT_GT(log->segments().size(), 3u);
  for (const auto& segment : log->segments()) EXPECT_LE(segment.size, 1000u);
  EXPECT_EQ(bench_.read_all(*log).size(), 40u);
  EXPECT_TRUE(bench_.files.exists(bench_.path(segment_file_name(log->segments()[1].base_offset, ".snapshot"))));
}

TEST_F(LogTest, segments_roll_by_age_of_their_first_batch) {
  bench_.config.segment_ms = 1000;
  auto log = bench_.open();
  bench_.append(*log, 1, {}, 5000);
  bench_.append(*log, 1, {}, 6000);
  EXPECT_EQ(log->segments().size(), 1u);
  bench_.append(*log, 1, {}, 6001);
  EXPECT_EQ(log->segments().size(), 2u);
}

TEST_F(LogTest, segments_roll_when_an_index_is_full) {
  bench_.config.segment_index_bytes = 24;  // 3 offsets, or one time and the last
  bench_.config.index_interval_bytes = 0;
  auto log = bench_.open();
  for (int i = 0; i < 12; ++i) bench_.append(*log, 1);
  EXPECT_GT(log->segments().size(), 2u);
  EXPECT_EQ(bench_.read_all(*log).size(), 12u);
}

TEST_F(LogTest, a_stop_after_a_clean_stop_syncs_nothing_when_nothing_came) {
  auto log = bench_.open();
  bench_.append(*log, 2, {.producer_id = 5, .producer_epoch = 0, .base_sequence = 0});
  ASSERT_TRUE(log->close().has_value());
  const auto reopen = [&] {
    log.reset();
    bench_.options = {.clean_shutdown = true, .recovery_point = 2, .high_watermark = 2, .now = WallTime{7000}};
    log = bench_.open();
  };
  reopen();
  int syncs = 0;
  bench_.files.fail_when([&](io::MemoryFileSystem::Operation operation, const std::string&) -> std::optional<int> {
    syncs += operation == io::MemoryFileSystem::Operation::sync || operation == io::MemoryFileSystem::Operation::sync_directory;
    return std::nullopt;
  });
  ASSERT_TRUE(log->close().has_value());
  EXPECT_EQ(syncs, 0);

  reopen();
  bench_.append(*log, 2, {.producer_id = 5, .producer_epoch = 0, .base_sequence = 2});
  ASSERT_TRUE(log->truncate_to(2).has_value());  // ends where it did, but the file was written
  syncs = 0;
  ASSERT_TRUE(log->close().has_value());
  EXPECT_GT(syncs, 0);
  bench_.files.crash();
  reopen();
  EXPECT_EQ(log->log_end_offset(), 2);
  EXPECT_TRUE(log->take_notices().empty());
}

TEST_F(LogTest, a_clean_stop_is_reopened_as_it_was) {
  bench_.config.segment_bytes = 2000;
  auto log = bench_.open();
  for (int i = 0; i < 30; ++i) bench_.append(*log, 2, {.producer_id = 5, .producer_epoch = 0, .base_sequence = i * 2});
  const auto before = bench_.read_all(*log);
  const auto producers = log->producers().all();
  ASSERT_TRUE(log->close().has_value());
  EXPECT_EQ(log->recovery_point(), 60);
  log.reset();
  bench_.files.crash();  // all of it was synced
  bench_.options = {.clean_shutdown = true, .recovery_point = 60, .high_watermark = 60, .now = WallTime{7000}};
  log = bench_.open();
  EXPECT_EQ(log->log_end_offset(), 60);
  EXPECT_EQ(log->high_watermark(), 60);
  EXPECT_EQ(bench_.read_all(*log), before);
  ASSERT_EQ(log->producers().all().size(), 1u);
  EXPECT_EQ(log->producers().find(5)->last_sequence(), producers.at(5).last_sequence());
  EXPECT_TRUE(log->take_notices().empty());
  // A duplicate of the last batch is still one.
  EXPECT_TRUE(bench_.append(*log, 2, {.producer_id = 5, .producer_epoch = 0, .base_sequence = 58}).duplicate);
  EXPECT_EQ(bench_.append(*log, 2, {.producer_id = 5, .producer_epoch = 0, .base_sequence = 60}).first_offset, 60);
}

TEST_F(LogTest, an_unclean_stop_recovers_what_was_synced) {
  bench_.config.segment_bytes = 2000;
  auto log = bench_.open();
  for (int i = 0; i < 30; ++i) bench_.append(*log, 2, {.producer_id = 5, .producer_epoch = 0, .base_sequence = i * 2});
  ASSERT_TRUE(log->flush().has_value());
  const auto before = bench_.read_all(*log);
  bench_.append(*log, 2);
  log.reset();
  bench_.files.crash();
  bench_.options.recovery_point = 10;
  log = bench_.open();
  EXPECT_EQ(bench_.read_all(*log), before);
  EXPECT_EQ(log->producers().find(5)->last_sequence(), 59);
}

TEST_F(LogTest, the_sequence_of_an_idempotent_producer_is_checked) {
  auto log = bench_.open();
  const auto batch = [](int16_t epoch, int32_t sequence) { return record::BatchOptions{.producer_id = 9, .producer_epoch = epoch, .base_sequence = sequence}; };
  for (int i = 0; i < 7; ++i) bench_.append(*log, 2, batch(1, i * 2));
  // The last five are duplicates with their first offsets, the one before is not known any more.
  for (int i = 2; i < 7; ++i) {
    const auto again = bench_.append(*log, 2, batch(1, i * 2));
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(again.first_offset, i * 2);
  }
  EXPECT_EQ(bench_.try_append(*log, 2, batch(1, 2)).error().code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
  EXPECT_EQ(bench_.try_append(*log, 2, batch(1, 15)).error().code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
  EXPECT_EQ(bench_.try_append(*log, 2, batch(0, 14)).error().code, ErrorCode::INVALID_PRODUCER_EPOCH);
  EXPECT_EQ(bench_.try_append(*log, 2, batch(2, 1)).error().code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
  EXPECT_EQ(log->log_end_offset(), 14);
  EXPECT_EQ(bench_.append(*log, 2, batch(2, 0)).first_offset, 14);
  // Wraps around within a batch and between two.
  bench_.append(*log, 2, {.producer_id = 10, .producer_epoch = 0, .base_sequence = INT32_MAX});
  bench_.append(*log, 1, {.producer_id = 10, .producer_epoch = 0, .base_sequence = 1});
}

TEST_F(LogTest, what_a_producer_sends_again_after_a_clean_stop_is_there_once) {
  bench_.config.segment_bytes = 400;  // the batches lie in several segments
  auto log = bench_.open();
  const auto batch = [](int64_t id, int32_t sequence) { return record::BatchOptions{.producer_id = id, .producer_epoch = 1, .base_sequence = sequence}; };
  std::vector<int64_t> first_offsets;
  for (int i = 0; i < 7; ++i) {
    first_offsets.push_back(bench_.append(*log, 2, batch(9, i * 2)).first_offset);
    bench_.append(*log, 1, batch(8, i));
  }
  EXPECT_GT(log->segments().size(), 2u);
  ASSERT_TRUE(log->close().has_value());
  bench_.options = {.clean_shutdown = true, .recovery_point = log->log_end_offset(), .high_watermark = log->log_end_offset(), .now = WallTime{7000}};
  log = bench_.open();
  ASSERT_EQ(log->producers().find(9)->batches.size(), 1u) << "the snapshot has the last one only";
  for (int i = 2; i < 7; ++i) {
    const auto again = bench_.append(*log, 2, batch(9, i * 2));
    EXPECT_TRUE(again.duplicate) << i;
    EXPECT_EQ(again.first_offset, first_offsets[static_cast<size_t>(i)]);
  }
  EXPECT_EQ(bench_.try_append(*log, 2, batch(9, 2)).error().code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER) << "the sixth is forgotten, as while it runs";
  EXPECT_FALSE(bench_.append(*log, 2, batch(9, 14)).duplicate);
  EXPECT_TRUE(bench_.append(*log, 1, batch(8, 5)).duplicate);
  EXPECT_FALSE(bench_.append(*log, 1, batch(8, 7)).duplicate);
}

TEST_F(LogTest, transactions_hold_the_last_stable_offset_and_aborted_ones_are_listed) {
  bench_.config.segment_bytes = 400;
  auto log = bench_.open();
  const auto data = [&](int64_t producer, int32_t sequence) { return bench_.append(*log, 1, {.producer_id = producer, .producer_epoch = 0, .base_sequence = sequence, .transactional = true}); };
  const auto end = [&](int64_t producer, bool commit) {
    Bytes marker = record::end_transaction_batch(1000, producer, 0, {.commit = commit, .coordinator_epoch = 1});
    return *log->append_as_leader(marker, 0, WallTime{1000}, AppendOrigin::coordinator);
  };
  data(1, 0);        // 0
  data(2, 0);        // 1
  log->set_high_watermark(log->log_end_offset());
  EXPECT_EQ(log->last_stable_offset(), 0);
  end(1, false);     // 2
  data(3, 0);        // 3
  end(2, true);      // 4
  data(1, 1);        // 5
  end(3, false);     // 6
  EXPECT_EQ(log->last_stable_offset(), 0);  // the markers are not below the high watermark yet
  log->set_high_watermark(log->log_end_offset());
  EXPECT_EQ(log->last_stable_offset(), 5);
  EXPECT_GT(log->segments().size(), 1u);

  const auto fetch = log->read(0, 1 << 20, 5, true);
  const auto aborted = log->aborted_transactions(0, *fetch);
  ASSERT_TRUE(aborted.has_value());
  ASSERT_GE(aborted->size(), 1u);
  EXPECT_EQ((*aborted)[0], (AbortedTransaction{1, 0, 2, 1}));

  // The same after a crash.
  ASSERT_TRUE(log->flush().has_value());
  log.reset();
  bench_.files.crash();
  bench_.options.high_watermark = 7;
  log = bench_.open();
  EXPECT_EQ(log->last_stable_offset(), 5);
  const auto again = log->aborted_transactions(0, *log->read(0, 1 << 20, 5, true));
  EXPECT_EQ(*again, *aborted);
  // A fenced coordinator and a stale producer are refused.
  Bytes marker = record::end_transaction_batch(1000, 1, 0, {.commit = true, .coordinator_epoch = 0});
  EXPECT_EQ(log->append_as_leader(marker, 0, WallTime{1000}, AppendOrigin::coordinator).error().code, ErrorCode::TRANSACTION_COORDINATOR_FENCED);
  EXPECT_EQ(bench_.try_append(*log, 1, {.producer_id = 1, .producer_epoch = 0, .base_sequence = 2}).error().code, ErrorCode::INVALID_TXN_STATE);
}

TEST_F(LogTest, followers_take_batches_as_they_are_up_to_their_epoch) {
  auto log = bench_.open();
  Bytes bytes = bench_.batch(3, {.base_offset = 7, .leader_epoch = 2});
  const size_t first = bytes.size();
  const Bytes second = bench_.batch(2, {.base_offset = 20, .leader_epoch = 5});
  bytes.insert(bytes.end(), second.begin(), second.end());
  EXPECT_EQ(log->append_as_follower(bytes, WallTime{1}, 5)->last_offset, 9);
  EXPECT_EQ(log->log_end_offset(), 10);
  EXPECT_EQ(log->append_as_follower(BytesView(bytes).subspan(first), WallTime{1})->last_offset, 21);
  EXPECT_EQ(log->leader_epochs().entries(), (std::vector<EpochEntry>{{2, 7}, {5, 20}}));
  EXPECT_EQ(log->append_as_follower(bytes, WallTime{1}).error().code, ErrorCode::OFFSET_OUT_OF_RANGE);
  bytes[first - 1] ^= 1;
  EXPECT_EQ(log->append_as_follower(bytes, WallTime{1}).error().code, ErrorCode::CORRUPT_MESSAGE);
  // Offsets in a gap are answered by what follows.
  EXPECT_EQ(bench_.offsets(*log->read(12, 1 << 20, 22, true)), (std::vector<int64_t>{20}));
}

TEST_F(LogTest, truncation_forgets_batches_epochs_and_producers) {
  bench_.config.segment_bytes = 500;
  auto log = bench_.open();
  for (int i = 0; i < 20; ++i) {
    Bytes bytes = bench_.batch(2, {.producer_id = 4, .producer_epoch = 0, .base_sequence = i * 2});
    ASSERT_TRUE(log->append_as_leader(bytes, i / 5, WallTime{1}).has_value());
  }
  log->set_high_watermark(40);
  ASSERT_TRUE(log->flush().has_value());
  EXPECT_FALSE(*log->truncate_to(40));
  EXPECT_TRUE(*log->truncate_to(24));
  EXPECT_EQ(log->log_end_offset(), 24);
  EXPECT_EQ(log->recovery_point(), 24);
  EXPECT_EQ(log->high_watermark(), 24);
  EXPECT_EQ(log->leader_epochs().entries(), (std::vector<EpochEntry>{{0, 0}, {1, 10}, {2, 20}}));
  EXPECT_EQ(log->producers().find(4)->last_sequence(), 23);
  EXPECT_EQ(bench_.read_all(*log).size(), 12u);
  EXPECT_EQ(bench_.append(*log, 2, {.producer_id = 4, .producer_epoch = 0, .base_sequence = 24}).first_offset, 24);
  ASSERT_TRUE(log->truncate_fully_and_start_at(100).has_value());
  EXPECT_EQ(log->log_start_offset(), 100);
  EXPECT_EQ(bench_.append(*log, 1).first_offset, 100);
  ASSERT_TRUE(log->flush().has_value());
  log.reset();
  bench_.files.crash();
  log = bench_.open();
  EXPECT_EQ(log->log_start_offset(), 100);
  EXPECT_EQ(log->log_end_offset(), 101);
}

TEST_F(LogTest, a_flush_that_began_before_a_truncation_proves_nothing) {
  auto log = bench_.open();
  bench_.append(*log, 10);
  bench_.append(*log, 10);
  FlushTask task = log->begin_flush();
  ASSERT_TRUE(task.run().has_value());
  ASSERT_TRUE(*log->truncate_to(10));
  bench_.append(*log, 10);
  log->finish_flush(task);
  EXPECT_EQ(log->recovery_point(), 0);
  ASSERT_TRUE(log->flush().has_value());
  EXPECT_EQ(log->recovery_point(), 20);
}

TEST_F(LogTest, retention_deletes_whole_segments_below_the_high_watermark_only) {
  bench_.config.segment_bytes = 500;
  bench_.config.retention_ms = 1000;
  auto log = bench_.open();
  for (int i = 0; i < 20; ++i) bench_.append(*log, 2, {}, 10'000 + i * 100);
  const size_t count = log->segments().size();
  EXPECT_EQ(*log->delete_old_segments(WallTime{1'000'000}), 0);
  log->set_high_watermark(20);
  const int deleted = *log->delete_old_segments(WallTime{1'000'000});
  EXPECT_GT(deleted, 0);
  EXPECT_LE(log->log_start_offset(), 20);
  EXPECT_EQ(log->segments().size(), count - static_cast<size_t>(deleted));
  EXPECT_EQ(log->read(0, 10, 40, true).error().code, ErrorCode::OFFSET_OUT_OF_RANGE);
  // Files wait for the delay.
  const auto due = log->next_file_removal();
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->milliseconds, 1'000'000 + 60'000);
  EXPECT_TRUE(bench_.files.exists(bench_.path(segment_file_name(0, ".log.deleted"))));
  log->remove_deleted_files(*due);
  EXPECT_FALSE(bench_.files.exists(bench_.path(segment_file_name(0, ".log.deleted"))));
  // All of it: the active segment is rolled first.
  log->set_high_watermark(40);
  EXPECT_GT(*log->delete_old_segments(WallTime{1'000'000}), 0);
  EXPECT_EQ(log->log_start_offset(), 40);
  EXPECT_EQ(log->log_end_offset(), 40);
  EXPECT_EQ(bench_.append(*log, 1).first_offset, 40);
}

TEST_F(LogTest, retention_by_size_keeps_at_least_that_much) {
  bench_.config.segment_bytes = 500;
  bench_.config.retention_bytes = 1500;
  bench_.config.retention_ms = -1;
  auto log = bench_.open();
  for (int i = 0; i < 40; ++i) bench_.append(*log, 2);
  log->set_high_watermark(80);
  EXPECT_GT(*log->delete_old_segments(WallTime{1}), 0);
  EXPECT_GE(log->size(), 1500u);
  EXPECT_LT(log->size(), 2000u);
}

TEST_F(LogTest, the_log_start_moves_forward_and_hides_what_is_below) {
  bench_.config.segment_bytes = 500;
  auto log = bench_.open();
  for (int i = 0; i < 20; ++i) bench_.append(*log, 2);
  EXPECT_EQ(log->advance_log_start(5).error().code, ErrorCode::OFFSET_OUT_OF_RANGE);
  log->set_high_watermark(40);
  ASSERT_TRUE(log->advance_log_start(25).has_value());
  ASSERT_TRUE(log->advance_log_start(5).has_value());
  EXPECT_EQ(log->log_start_offset(), 25);
  EXPECT_EQ(log->read(24, 10, 40, true).error().code, ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(bench_.offsets(*log->read(25, 10, 40, true)), (std::vector<int64_t>{24}));
  bench_.config.cleanup_delete = false;
  log->set_config(bench_.config);
  EXPECT_GT(*log->delete_old_segments(WallTime{1}), 0);
  EXPECT_EQ(log->log_start_offset(), 25);
}

TEST_F(LogTest, times_lead_to_the_first_record_that_is_as_late) {
  bench_.config.segment_bytes = 700;
  bench_.config.index_interval_bytes = 0;
  auto log = bench_.open();
  for (int i = 0; i < 20; ++i) bench_.append(*log, 3, {}, 1000 + (i % 2 ? i * 10 : i * 10 - 15));  // out of order
  for (int64_t timestamp = 980; timestamp < 1195; ++timestamp) {
    std::optional<TimestampOffset> expected;
    for (const auto& [at, time] : bench_.records(*log))
      if (!expected && time >= timestamp) expected = TimestampOffset{time, at, 0};
    EXPECT_EQ(*log->offset_for_timestamp(timestamp), expected) << timestamp;
  }
  const auto newest = log->offset_of_max_timestamp();
  EXPECT_EQ(newest->value(), (TimestampOffset{1192, 59, 0}));
  EXPECT_EQ(bench_.open("empty")->offset_of_max_timestamp()->has_value(), false);
}

TEST_F(LogTest, a_full_disk_refuses_the_append_and_leaves_the_log_whole) {
  auto log = bench_.open();
  bench_.append(*log, 3);
  bench_.files.set_capacity(0);
  const auto refused = bench_.try_append(*log, 3);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_TRUE(io::is_no_space(refused.error()));
  EXPECT_EQ(log->log_end_offset(), 3);
  bench_.files.set_capacity(1 << 20);
  EXPECT_EQ(bench_.append(*log, 3).first_offset, 3);
  EXPECT_EQ(bench_.read_all(*log).size(), 2u);
}

TEST_F(LogTest, a_read_keeps_its_file_when_the_segment_goes) {
  bench_.config.segment_bytes = 300;
  auto log = bench_.open();
  for (int i = 0; i < 10; ++i) bench_.append(*log, 2);
  const auto data = log->read(0, 1 << 20, 20, true);
  log->set_high_watermark(20);
  ASSERT_TRUE(log->truncate_fully_and_start_at(50).has_value());
  EXPECT_FALSE(bench_.offsets(*data).empty());
}

TEST_F(LogTest, every_crash_leaves_a_prefix_with_what_was_flushed) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Prng random(seed);
    LogBench bench;
    bench.config.segment_bytes = 700;
    bench.config.index_interval_bytes = 100;
    bench.config.retention_ms = -1;
    auto log = bench.open();
    ASSERT_TRUE(bench.files.sync_directory("/").has_value() && bench.files.sync_directory("/data").has_value());
    int countdown = static_cast<int>(random.below(200));
    bench.files.fail_when([&](auto, const std::string&) { return --countdown < 0 ? std::optional(EIO) : std::nullopt; });
    std::vector<Bytes> appended;
    int64_t flushed = 0;
    for (int i = 0; i < 60; ++i) {
      Bytes bytes = bench.batch(2, {.producer_id = 3, .producer_epoch = 0, .base_sequence = i * 2});
      if (!log->append_as_leader(bytes, i / 20, WallTime{1})) break;
      appended.push_back(bytes);
      if (random.chance(0.2)) {
        if (!log->flush()) break;
        flushed = log->log_end_offset();
      }
    }
    log.reset();
    bench.files.fail_when(nullptr);
    bench.files.crash(&random);
    bench.options.recovery_point = random.chance(0.5) ? flushed : 0;
    log = bench.open();
    ASSERT_GE(log->log_end_offset(), flushed);
    // A power cut may take the end of a segment that was not synced yet and leave the next one: what is whole stays, the hole is known.
    for (const DamagedRange& range : log->damaged_ranges()) EXPECT_GE(range.first_offset, flushed);
    const bool hole = std::ranges::any_of(log->take_notices(), [](const Notice& notice) { return notice.text.contains("are missing"); });
    if (hole || !log->damaged_ranges().empty()) continue;
    const auto read = bench.read_all(*log);
    ASSERT_LE(read.size(), appended.size() + 1);
    for (size_t i = 0; i < std::min(read.size(), appended.size()); ++i) ASSERT_EQ(read[i], appended[i]);
    const auto count = static_cast<int32_t>(read.size());
    if (count > 0) {
      EXPECT_EQ(log->producers().find(3)->last_sequence(), count * 2 - 1);
    }
    // And it goes on.
    EXPECT_EQ(bench.append(*log, 2, {.producer_id = 3, .producer_epoch = 0, .base_sequence = count * 2}).first_offset, count * 2);
  }
}

}  // namespace
}  // namespace castellan::log

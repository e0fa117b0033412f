// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/cleaner.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "log/log_testing.h"

namespace castellan::log {
namespace {

using Model = std::map<std::string, std::string>;

struct CleanerBench : LogBench {
  CleanerBench() {
    config.segment_bytes = 1000;
    config.index_interval_bytes = 200;
    config.cleanup_compact = true;
    config.cleanup_delete = false;
    config.min_cleanable_dirty_ratio = 0;
    config.delete_retention_ms = 1000;
    config.file_delete_delay_ms = 10;
  }

  AppendResult put(Log& log, const std::string& key, std::optional<std::string> value, record::BatchOptions options = {}) {
    record::BatchBuilder builder(options);
    builder.append(now.milliseconds, as_bytes(key), value ? std::optional(as_bytes(*value)) : std::nullopt);
    Bytes bytes = builder.finish();
    const auto result = log.append_as_leader(bytes, 0, now);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    log.set_high_watermark(log.log_end_offset());
    return result.value_or(AppendResult{});
  }

  void end_transaction(Log& log, int64_t producer, bool commit) {
    Bytes marker = record::end_transaction_batch(now.milliseconds, producer, 0, {.commit = commit, .coordinator_epoch = 1});
    ASSERT_TRUE(log.append_as_leader(marker, 0, now, AppendOrigin::coordinator).has_value());
    log.set_high_watermark(log.log_end_offset());
  }

  Result<CleanStats> clean(Log& log) {
    TRY(const auto candidate, log.clean_candidate(checkpoint, now));
    if (!candidate.due(log.config())) return fail(ErrorCode::NONE, "not due");
    TRY(auto task, log.begin_clean(candidate, now));
    OffsetMap map(map_memory);
    TRY_VOID(task->run(map));
    TRY(const auto stats, log.finish_clean(*task, now));
    checkpoint = stats.end_offset;
    return stats;
  }

  // What a read_committed consumer that starts at the beginning ends up with; `tombstones` counts the nulls it sees.
  Model contents(Log& log, int* tombstones = nullptr, int* markers = nullptr) {
    Model model;
    std::set<std::pair<int64_t, int64_t>> aborted;  // producer, first offset of aborted transactions seen
    const auto data = log.read(log.log_start_offset(), 1, log.log_end_offset(), true);
    std::vector<AbortedTransaction> all;
    for (int64_t offset = log.log_start_offset(); offset < log.log_end_offset();) {
      const auto part = log.read(offset, 1 << 20, log.log_end_offset(), true);
      if (!part || part->length == 0) break;
      const auto listed = log.aborted_transactions(offset, *part);
      all.insert(all.end(), listed->begin(), listed->end());
      const Bytes bytes = *part->load();
      record::BatchScanner scanner(bytes);
      for (auto batch = scanner.next(); batch && *batch; batch = scanner.next()) offset = (*batch)->next_offset();
    }
    for (const Bytes& bytes : read_all(log)) {
      const record::BatchView batch(bytes);
      record::RecordReader reader(batch);
      record::Record record;
      for (auto more = reader.next(record); more && *more; more = reader.next(record)) {
        if (batch.is_control()) {
          if (markers) ++*markers;
          continue;
        }
        const bool gone = batch.is_transactional() && std::ranges::any_of(all, [&](const AbortedTransaction& entry) {
          return entry.producer_id == batch.producer_id() && entry.first_offset <= record.offset && record.offset < entry.last_offset;
        });
        if (gone) continue;
        const std::string key(as_text(*record.key));
        if (record.value) model[key] = std::string(as_text(*record.value));
        else model.erase(key);
        if (tombstones && !record.value) ++*tombstones;
      }
    }
    return model;
  }

  WallTime now{1'000'000};
  std::optional<int64_t> checkpoint;
  size_t map_memory = 1 << 20;
};

TEST(Cleaner, the_latest_of_each_key_stays_with_its_offset_and_time) {
  CleanerBench bench;
  auto log = bench.open();
  Model model;
  for (int i = 0; i < 100; ++i) {
    const std::string key = fmt::format("key {}", i % 7), value = fmt::format("value {}", i);
    bench.put(*log, key, value);
    model[key] = value;
  }
  const auto before = bench.records(*log);
  const uint64_t size = log->size();
  const int64_t active = log->segments().back().base_offset;
  const auto stats = bench.clean(*log);
  ASSERT_TRUE(stats.has_value()) << stats.error().message;
  EXPECT_EQ(stats->end_offset, active);
  EXPECT_EQ(bench.contents(*log), model);
  EXPECT_LT(log->size(), size / 2);
  EXPECT_EQ(stats->records_kept + 1 < stats->records_read, true);
  for (const auto& record : bench.records(*log)) EXPECT_NE(std::ranges::find(before, record), before.end());
  EXPECT_EQ(log->log_end_offset(), 100);
  // Every offset is still answered, by what follows it.
  for (int64_t offset = 0; offset < 100; ++offset) {
    const auto data = log->read(offset, 1 << 20, 100, true);
    ASSERT_TRUE(data.has_value() && data->length > 0) << offset;
    EXPECT_GE(record::BatchView(*data->load()).last_offset(), offset);
  }
  EXPECT_FALSE(bench.clean(*log).has_value());  // nothing dirty is left but the active segment
  log->remove_deleted_files(bench.now + std::chrono::milliseconds(10));
  const auto entries = bench.files.list(bench.directory);
  for (const auto& entry : *entries) EXPECT_FALSE(entry.name.ends_with(".deleted")) << entry.name;
}

TEST(Cleaner, a_tombstone_goes_once_its_horizon_has_passed) {
  CleanerBench bench;
  auto log = bench.open();
  bench.put(*log, "a", "1");
  bench.put(*log, "a", std::nullopt);
  for (int i = 0; i < 20; ++i) bench.put(*log, "b", "filler that makes the segment full, and the next");
  int tombstones = 0;
  ASSERT_TRUE(bench.clean(*log).has_value());
  (void)bench.contents(*log, &tombstones);
  EXPECT_EQ(tombstones, 1);
  const auto fill = [&] {
    for (int i = 0; i < 20; ++i) bench.put(*log, "b", "filler that makes the segment full, and the next");
  };
  fill();
  bench.now.milliseconds += 999;
  ASSERT_TRUE(bench.clean(*log).has_value());
  tombstones = 0;
  (void)bench.contents(*log, &tombstones);
  EXPECT_EQ(tombstones, 1);
  fill();
  bench.now.milliseconds += 1;
  ASSERT_TRUE(bench.clean(*log).has_value());
  tombstones = 0;
  EXPECT_EQ(bench.contents(*log, &tombstones).size(), 1u);
  EXPECT_EQ(tombstones, 0);
}

TEST(Cleaner, aborted_data_goes_at_once_and_its_marker_after_its_horizon) {
  CleanerBench bench;
  auto log = bench.open();
  const record::BatchOptions transactional{.producer_id = 7, .producer_epoch = 0, .base_sequence = 0, .transactional = true};
  bench.put(*log, "a", "before");
  bench.put(*log, "a", "aborted", transactional);
  bench.end_transaction(*log, 7, false);
  const record::BatchOptions second{.producer_id = 8, .producer_epoch = 0, .base_sequence = 0, .transactional = true};
  bench.put(*log, "c", "committed", second);
  bench.end_transaction(*log, 8, true);
  const auto fill = [&] {
    for (int i = 0; i < 20; ++i) bench.put(*log, "b", "filler that makes the segment full, and the next");
  };
  const auto markers = [&] {
    int count = 0;
    const Model model = bench.contents(*log, nullptr, &count);
    EXPECT_EQ(model.at("a"), "before");
    EXPECT_EQ(model.at("c"), "committed");
    return count;
  };
  fill();
  ASSERT_TRUE(bench.clean(*log).has_value());
  EXPECT_EQ(markers(), 2);
  // The aborted batch stays, empty, as long as its producer is remembered, and the marker with it.
  log->expire_producers(WallTime{bench.now.milliseconds + 1'000'000'000});
  fill();
  ASSERT_TRUE(bench.clean(*log).has_value());
  EXPECT_EQ(markers(), 2);
  fill();
  ASSERT_TRUE(bench.clean(*log).has_value());  // nothing of the aborted one was seen: its marker gets a horizon
  EXPECT_EQ(markers(), 2);
  bench.now.milliseconds += 1000;
  fill();
  ASSERT_TRUE(bench.clean(*log).has_value());
  EXPECT_EQ(markers(), 1);  // the committed one's data is there, so its marker stays
}

TEST(Cleaner, nothing_beyond_an_open_transaction_is_touched) {
  CleanerBench bench;
  auto log = bench.open();
  for (int i = 0; i < 30; ++i) bench.put(*log, "a", "some value to fill segments with");
  const int64_t open = log->log_end_offset();
  bench.put(*log, "a", "open", {.producer_id = 7, .producer_epoch = 0, .base_sequence = 0, .transactional = true});
  for (int i = 0; i < 30; ++i) bench.put(*log, "a", "some value to fill segments with");
  ASSERT_TRUE(bench.clean(*log).has_value());
  EXPECT_LE(bench.checkpoint.value(), open);
  int64_t seen = 0;
  for (const auto& [offset, time] : bench.records(*log)) seen += offset >= open;
  EXPECT_EQ(seen, 31);
}

TEST(Cleaner, the_last_sequence_of_each_producer_stays) {
  CleanerBench bench;
  auto log = bench.open();
  for (int i = 0; i < 5; ++i) bench.put(*log, "a", "x", {.producer_id = 7, .producer_epoch = 0, .base_sequence = i});
  for (int i = 0; i < 40; ++i) bench.put(*log, "a", "some value to fill segments with");
  ASSERT_TRUE(bench.clean(*log).has_value());
  ASSERT_TRUE(log->flush().has_value());
  log.reset();
  const auto entries = bench.files.list(bench.directory);
  for (const auto& entry : *entries)
    if (entry.name.ends_with(".snapshot")) (void)bench.files.remove(bench.path(entry.name));
  bench.options.high_watermark = 45;
  log = bench.open();
  ASSERT_NE(log->producers().find(7), nullptr);
  EXPECT_EQ(log->producers().find(7)->last_sequence(), 4);
}

TEST(Cleaner, the_end_before_the_high_watermark_stays) {
  CleanerBench bench;
  auto log = bench.open();
  for (int i = 0; i < 20; ++i) bench.put(*log, "a", "some value to fill segments with");
  ASSERT_TRUE(log->roll(bench.now).has_value());
  Bytes keyless = bench.batch(1);
  {
    record::BatchBuilder builder({});
    builder.append(5, std::nullopt, as_bytes("no key"));
    keyless = builder.finish();
  }
  ASSERT_TRUE(log->append_as_leader(keyless, 0, bench.now).has_value());
  log->set_high_watermark(21);
  ASSERT_TRUE(log->roll(bench.now).has_value());
  const auto stats = bench.clean(*log);
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->records_without_key, 1u);
  ASSERT_TRUE(log->close().has_value());
  log.reset();
  bench.options = {.clean_shutdown = true, .recovery_point = 21, .high_watermark = 21, .now = bench.now};
  EXPECT_EQ(bench.open()->log_end_offset(), 21);
}

TEST(Cleaner, due_follows_ratio_and_lags) {
  CleanerBench bench;
  bench.config.min_cleanable_dirty_ratio = 0.5;
  auto log = bench.open();
  for (int i = 0; i < 60; ++i) bench.put(*log, fmt::format("{}", i), "some value to fill segments with");
  auto candidate = *log->clean_candidate(std::nullopt, bench.now);
  EXPECT_TRUE(candidate.due(log->config()));
  EXPECT_EQ(candidate.dirty_ratio(), 1.0);
  ASSERT_TRUE(bench.clean(*log).has_value());
  for (int i = 60; i < 90; ++i) bench.put(*log, fmt::format("{}", i), "some value to fill segments with");
  candidate = *log->clean_candidate(bench.checkpoint, bench.now);
  EXPECT_LT(candidate.dirty_ratio(), 0.5);
  EXPECT_FALSE(candidate.due(log->config()));
  bench.config.max_compaction_lag_ms = 1000;
  log->set_config(bench.config);
  EXPECT_FALSE(log->clean_candidate(bench.checkpoint, bench.now)->due(log->config()));
  bench.now.milliseconds += 1001;
  EXPECT_TRUE(log->clean_candidate(bench.checkpoint, bench.now)->due(log->config()));
  bench.config.min_compaction_lag_ms = 2000;
  log->set_config(bench.config);
  EXPECT_EQ(log->clean_candidate(bench.checkpoint, bench.now)->cleanable_bytes, 0u);
  // A checkpoint that cannot be is not believed.
  EXPECT_EQ(log->clean_candidate(1000, bench.now)->first_dirty_offset, 0);
}

TEST(Cleaner, a_small_buffer_needs_more_rounds) {
  CleanerBench bench;
  bench.map_memory = 24 * 12;
  auto log = bench.open();
  Model model;
  for (int i = 0; i < 200; ++i) {
    const std::string key = fmt::format("key {}", i % 40), value = fmt::format("value {}", i);
    bench.put(*log, key, value);
    model[key] = value;
  }
  int rounds = 0;
  while (bench.clean(*log).has_value()) {
    ++rounds;
    EXPECT_EQ(bench.contents(*log), model);
    ASSERT_LT(rounds, 100);
  }
  EXPECT_GT(rounds, 5);
}

TEST(Cleaner, damage_makes_a_log_uncleanable_and_leaves_it_as_it_is) {
  CleanerBench bench;
  auto log = bench.open();
  for (int i = 0; i < 60; ++i) bench.put(*log, fmt::format("{}", i % 5), "some value to fill segments with");
  const std::string victim = bench.path(segment_file_name(log->segments()[1].base_offset, ".log"));
  ASSERT_TRUE((*bench.files.open(victim, io::OpenMode::read_write))->write_at(80, as_bytes("XX")).has_value());
  const auto before = log->segments().size();
  const auto refused = bench.clean(*log);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::CORRUPT_MESSAGE);
  EXPECT_NE(refused.error().message.find(victim), std::string::npos);
  EXPECT_EQ(log->segments().size(), before);
  const auto entries = bench.files.list(bench.directory);
  for (const auto& entry : *entries) EXPECT_FALSE(entry.name.ends_with(".cleaned")) << entry.name;
}

TEST(Cleaner, tells_between_batches_how_much_it_has_read_and_written) {
  CleanerBench bench;
  auto log = bench.open();
  for (int i = 0; i < 60; ++i) bench.put(*log, fmt::format("{}", i % 5), "some value to fill segments with");
  auto task = *log->begin_clean(*log->clean_candidate(std::nullopt, bench.now), bench.now);
  OffsetMap map(1 << 20);
  std::vector<uint64_t> told;
  ASSERT_TRUE(task->run(map, nullptr, [&](uint64_t bytes) { told.push_back(bytes); }).has_value());
  ASSERT_GT(told.size(), 60u);
  EXPECT_EQ(told.front(), 0u);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.back(), 2 * task->stats().bytes_read + task->stats().bytes_written) << "read twice: for the map, and to write what stays";
}

TEST(Cleaner, a_truncation_or_cancellation_in_between_costs_only_the_work) {
  CleanerBench bench;
  auto log = bench.open();
  for (int i = 0; i < 60; ++i) bench.put(*log, fmt::format("{}", i % 5), "some value to fill segments with");
  {
    auto task = *log->begin_clean(*log->clean_candidate(std::nullopt, bench.now), bench.now);
    OffsetMap map(1 << 20);
    ASSERT_TRUE(task->run(map).has_value());
    ASSERT_TRUE(*log->truncate_to(40));
    EXPECT_EQ(log->finish_clean(*task, bench.now).error().code, ErrorCode::OPERATION_NOT_ATTEMPTED);
  }
  {
    auto task = *log->begin_clean(*log->clean_candidate(std::nullopt, bench.now), bench.now);
    OffsetMap map(1 << 20);
    const std::atomic<bool> cancelled = true;
    EXPECT_EQ(task->run(map, &cancelled).error().code, ErrorCode::OPERATION_NOT_ATTEMPTED);
  }
  EXPECT_EQ(bench.records(*log).size(), 40u);
  const auto entries = bench.files.list(bench.directory);
  for (const auto& entry : *entries) EXPECT_FALSE(entry.name.contains(".cleaned")) << entry.name;
}

constexpr uint64_t seeds = 30;

// Random writes, transactions, rounds and restarts give what a map gives.
TEST(Cleaner, it_equals_a_map) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Prng random(seed);
    CleanerBench bench;
    bench.config.segment_bytes = static_cast<int32_t>(random.between(300, 3000));
    bench.map_memory = 24 * static_cast<size_t>(random.between(30, 400));
    auto log = bench.open();
    Model model;
    std::map<int64_t, std::map<std::string, std::optional<std::string>>> open;  // transactions
    std::map<int64_t, int32_t> sequences;
    for (int step = 0; step < 600; ++step) {
      bench.now.milliseconds += random.between(0, 20);
      const std::string key = fmt::format("k{}", random.below(25));
      const std::optional<std::string> value = random.chance(0.15) ? std::nullopt : std::optional(fmt::format("v{}-{}", step, std::string(random.below(60), 'x')));
      const auto codec = static_cast<record::Compression>(random.below(5));
      if (random.chance(0.3)) {
        const int64_t producer = random.between(1, 3);
        if (std::ranges::any_of(open, [&](const auto& other) { return other.first != producer && other.second.contains(key); })) continue;
        bench.put(*log, key, value, {.compression = codec, .producer_id = producer, .producer_epoch = 0, .base_sequence = sequences[producer]++, .transactional = true});
        open[producer][key] = value;
        if (random.chance(0.5)) {
          const bool commit = random.chance(0.6);
          bench.end_transaction(*log, producer, commit);
          if (commit)
            for (const auto& [k, v] : open[producer]) v ? void(model[k] = *v) : void(model.erase(k));
          open.erase(producer);
        }
      } else {
        // A key of an open transaction that another writes meanwhile is a race that a map does not have.
        bool in_transaction = false;
        for (const auto& [producer, writes] : open) in_transaction |= writes.contains(key);
        if (in_transaction) continue;
        bench.put(*log, key, value, {.compression = codec});
        if (value) model[key] = *value;
        else model.erase(key);
      }
      if (random.chance(0.05)) {
        for (auto& [producer, writes] : open) bench.end_transaction(*log, producer, false);
        open.clear();
        (void)bench.clean(*log);
        ASSERT_EQ(bench.contents(*log), model);
      }
      if (random.chance(0.02)) {
        for (auto& [producer, writes] : open) bench.end_transaction(*log, producer, false);
        open.clear();
        const int64_t end = log->log_end_offset();
        const auto producers = log->producers().all();
        ASSERT_TRUE(log->flush().has_value());
        log.reset();
        bench.options = {.recovery_point = random.chance(0.5) ? end : 0, .high_watermark = end, .now = bench.now};
        log = bench.open();
        ASSERT_EQ(log->log_end_offset(), end);
        ASSERT_EQ(bench.contents(*log), model);
        for (const auto& [id, state] : producers) ASSERT_EQ(log->producers().find(id)->last_sequence(), state.last_sequence());
      }
    }
  }
}

// Killed at every call to the disk, with what was not synced lost: the next start finds the old segments or the new ones.
TEST(Cleaner, a_crash_anywhere_leaves_the_old_or_the_new) {
  for (int fail_at = 0;; ++fail_at) {
    SCOPED_TRACE(fmt::format("call {}", fail_at));
    CleanerBench bench;
    bench.config.segment_bytes = 500;
    auto log = bench.open();
    Model model;
    for (int i = 0; i < 40; ++i) {
      const std::string key = fmt::format("key {}", i % 6), value = fmt::format("value {}", i);
      bench.put(*log, key, value);
      model[key] = value;
    }
    ASSERT_TRUE(log->flush().has_value());
    int countdown = fail_at;
    bench.files.fail_when([&](auto operation, const std::string&) {
      if (operation == io::MemoryFileSystem::Operation::read) return std::optional<int>();
      return --countdown < 0 ? std::optional(EIO) : std::nullopt;
    });
    const bool finished = bench.clean(*log).has_value();
    const bool reached = countdown < 0;
    bench.files.fail_when(nullptr);
    log.reset();
    Prng random(static_cast<uint64_t>(fail_at));
    bench.files.crash(fail_at % 2 ? &random : nullptr);
    for (const bool unclean : {true, false}) {
      bench.options = {.clean_shutdown = !unclean, .recovery_point = 40, .high_watermark = 40, .now = bench.now};
      log = bench.open();
      ASSERT_TRUE(log);
      EXPECT_EQ(log->log_end_offset(), 40);
      EXPECT_EQ(bench.contents(*log), model);
      EXPECT_TRUE(log->damaged_ranges().empty());
      const auto entries = bench.files.list(bench.directory);
      for (const auto& entry : *entries) EXPECT_TRUE(!entry.name.ends_with(".cleaned") && !entry.name.ends_with(".swap") && !entry.name.ends_with(".deleted")) << entry.name;
      log.reset();
    }
    if (!reached) {
      EXPECT_TRUE(finished);
      EXPECT_GT(fail_at, 30);
      break;
    }
  }
}

TEST(OffsetMap, it_holds_the_latest_of_each_key_up_to_its_limit) {
  OffsetMap map(24 * 100, 0.5);
  EXPECT_EQ(map.capacity(), 50u);
  EXPECT_EQ(map.find(as_bytes("x")), -1);
  for (int64_t i = 0; i < 50; ++i) EXPECT_TRUE(map.put(as_bytes(fmt::format("{}", i)), i));
  EXPECT_FALSE(map.put(as_bytes("one more"), 50));
  EXPECT_TRUE(map.put(as_bytes("7"), 60));
  EXPECT_EQ(map.find(as_bytes("7")), 60);
  EXPECT_EQ(map.find(as_bytes("8")), 8);
  map.clear();
  EXPECT_EQ(map.size(), 0u);
  EXPECT_EQ(map.find(as_bytes("8")), -1);
}

}  // namespace
}  // namespace castellan::log

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/log_summary.h"

#include <gtest/gtest.h>

namespace castellan::raft {
namespace {

LogPosition at(int64_t offset, int32_t epoch) { return {Offset{offset}, Epoch{epoch}}; }

LogSummary log_of(std::initializer_list<EpochTable::Entry> epochs, int64_t start, int64_t end) {
  LogSummary log;
  log.start = Offset{start};
  log.end = log.synced_end = Offset{end};
  for (const auto& entry : epochs) log.epochs.assign(entry.epoch, entry.start);
  return log;
}

std::string verdict(const LogSummary& log, LogPosition position) {
  const auto result = log.judge(position);
  if (const auto* diverging = std::get_if<LogSummary::Diverging>(&result)) return fmt::format("diverging {}", diverging->end);
  if (const auto* behind = std::get_if<LogSummary::NeedsSnapshot>(&result)) return fmt::format("snapshot {}", behind->id);
  return "valid";
}

const EpochTable::Entry epoch_1_at_0{Epoch{1}, Offset{0}}, epoch_2_at_10{Epoch{2}, Offset{10}};

TEST(LogSummary, tells_a_follower_where_the_logs_part) {  // T158
  const LogSummary five = log_of({epoch_1_at_0}, 0, 5);
  EXPECT_EQ(verdict(five, at(5, 2)), "diverging 5-1");
  EXPECT_EQ(verdict(five, at(5, 1)), "valid");
  EXPECT_EQ(verdict(five, at(6, 1)), "diverging 5-1");
  const LogSummary two = log_of({epoch_1_at_0, epoch_2_at_10}, 0, 20);
  EXPECT_EQ(verdict(two, at(11, 1)), "diverging 10-1");
  EXPECT_EQ(verdict(two, at(10, 1)), "valid");
  EXPECT_EQ(verdict(two, at(15, 2)), "valid");
  EXPECT_EQ(verdict(log_of({}, 0, 0), at(0, 0)), "valid");
}

TEST(LogSummary, sends_the_newest_snapshot_to_whom_the_log_no_longer_reaches) {
  LogSummary log = log_of({epoch_2_at_10}, 10, 20);
  log.snapshots = {at(10, 1), at(15, 2)};
  EXPECT_EQ(verdict(log, at(0, 0)), "snapshot 15-2");   // T244
  EXPECT_EQ(verdict(log, at(9, 1)), "snapshot 15-2");   // T243
  EXPECT_EQ(verdict(log, at(10, 1)), "valid");          // T247
  EXPECT_EQ(verdict(log, at(10, 2)), "snapshot 15-2");  // T248
  EXPECT_EQ(verdict(log, at(12, 0)), "snapshot 15-2");  // T249
  EXPECT_EQ(verdict(log, at(12, 2)), "valid");
}

TEST(LogSummary, never_sends_the_bootstrap_snapshot) {  // T125
  LogSummary log = log_of({epoch_1_at_0}, 0, 5);
  log.snapshots = {bootstrap_snapshot};
  EXPECT_EQ(verdict(log, at(0, 0)), "valid");
  EXPECT_EQ(verdict(log, at(3, 1)), "valid");
}

TEST(LogSummary, has_the_epoch_of_its_last_record_or_of_the_snapshot_in_its_place) {
  EXPECT_EQ(log_of({}, 0, 0).last(), at(0, 0));
  EXPECT_EQ(log_of({epoch_1_at_0}, 0, 5).last(), at(5, 1));
  LogSummary log = log_of({}, 7, 7);
  log.snapshots = {at(7, 3)};
  EXPECT_EQ(log.last(), at(7, 3));
}

TEST(LogSummary, forgets_epochs_and_what_was_synced_when_it_is_cut) {
  LogSummary log = log_of({epoch_1_at_0, epoch_2_at_10}, 0, 20);
  log.truncate_to(Offset{10});
  EXPECT_EQ(log.last(), at(10, 1));
  EXPECT_EQ(log.synced_end, Offset{10});
  log.append(Epoch{4}, Offset{10}, Offset{12});
  EXPECT_EQ(log.last(), at(12, 4));
  EXPECT_EQ(log.synced_end, Offset{10});
}

TEST(LogSummary, keeps_the_epoch_that_reaches_over_a_new_start) {
  LogSummary log = log_of({epoch_1_at_0, epoch_2_at_10}, 0, 20);
  log.snapshots = {at(5, 1), at(12, 2)};
  log.advance_start(Offset{12});
  EXPECT_EQ(log.epochs.entries(), (std::vector<EpochTable::Entry>{{Epoch{2}, Offset{12}}}));
  EXPECT_EQ(log.snapshots, (std::set<SnapshotId>{at(12, 2)}));
}

TEST(LogSummary, restarts_at_a_snapshot) {
  LogSummary log = log_of({epoch_1_at_0}, 0, 5);
  log.snapshots = {at(3, 1)};
  log.restart_at(at(100, 4));
  EXPECT_EQ(log.last(), at(100, 4));
  EXPECT_EQ(log.start, Offset{100});
  EXPECT_EQ(log.snapshots.size(), 1u);
}

TEST(EpochTable, replaces_what_a_new_epoch_contradicts) {  // R195
  EpochTable table;
  table.assign(Epoch{1}, Offset{0});
  table.assign(Epoch{3}, Offset{5});
  table.assign(Epoch{3}, Offset{7});  // known
  EXPECT_EQ(table.entries().size(), 2u);
  table.assign(Epoch{2}, Offset{9});
  EXPECT_EQ(table.entries(), (std::vector<EpochTable::Entry>{{Epoch{1}, Offset{0}}, {Epoch{2}, Offset{9}}}));
  table.assign(Epoch{4}, Offset{9});
  EXPECT_EQ(table.last()->epoch, Epoch{4});
  EXPECT_EQ(table.entries().size(), 2u);
  EXPECT_EQ(table.epoch_at(Offset{8}), Epoch{1});
  EXPECT_EQ(table.epoch_at(Offset{9}), Epoch{4});
}

}  // namespace
}  // namespace castellan::raft

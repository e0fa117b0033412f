// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/offsets.h"

#include <gtest/gtest.h>

namespace castellan::group {
namespace {

OffsetAndMetadata at(int64_t offset, int64_t record_offset) {
  OffsetAndMetadata value;
  value.offset = offset;
  value.record_offset = record_offset;
  return value;
}

const OffsetKey key{"g", "t", 3};

TEST(Offsets, PutAndRemoveAnswerWhatWasThere) {
  Offsets offsets;
  EXPECT_EQ(offsets.put(key, at(1, 10)), std::nullopt);
  EXPECT_EQ(offsets.put(key, at(2, 11))->offset, 1);
  EXPECT_EQ(offsets.find(key)->offset, 2);
  EXPECT_EQ(offsets.remove(key)->offset, 2);
  EXPECT_EQ(offsets.remove(key), std::nullopt);
  EXPECT_EQ(offsets.find_group("g"), nullptr);
}

TEST(Offsets, OpenTransactionIsSeenOnlyAfterItsCommit) {
  Offsets offsets;
  offsets.put_pending(7, key, at(5, 20));
  EXPECT_EQ(offsets.find(key), nullptr);
  EXPECT_TRUE(offsets.has_pending(key));
  EXPECT_FALSE(offsets.group_is_empty("g"));
  offsets.end_transaction(7, true);
  EXPECT_EQ(offsets.find(key)->offset, 5);
  EXPECT_FALSE(offsets.has_pending(key));
}

TEST(Offsets, AbortedTransactionLeavesNothing) {
  Offsets offsets;
  offsets.put_pending(7, key, at(5, 20));
  offsets.end_transaction(7, false);
  EXPECT_TRUE(offsets.group_is_empty("g"));
}

TEST(Offsets, LaterPlainCommitIsNotOvertakenByAnOlderTransaction) {
  Offsets offsets;
  offsets.put_pending(7, key, at(5, 20));
  offsets.put(key, at(9, 21));
  offsets.end_transaction(7, true);
  EXPECT_EQ(offsets.find(key)->offset, 9);
}

TEST(Offsets, TombstoneTakesOpenTransactionsAwayToo) {
  Offsets offsets;
  offsets.put_pending(7, key, at(5, 20));
  offsets.put_pending(8, key, at(6, 21));
  EXPECT_EQ(offsets.remove_pending(key).size(), 2u);
  offsets.end_transaction(7, true);
  EXPECT_TRUE(offsets.group_is_empty("g"));
}

TEST(Offsets, PendingKeysAreThoseOfTheGroupAlone) {
  Offsets offsets;
  offsets.put_pending(7, {"g", "t", 0}, at(1, 1));
  offsets.put_pending(7, {"ga", "t", 0}, at(1, 2));
  offsets.put_pending(7, {"f", "t", 0}, at(1, 3));
  EXPECT_EQ(offsets.pending_keys("g").size(), 1u);
}

}  // namespace
}  // namespace castellan::group

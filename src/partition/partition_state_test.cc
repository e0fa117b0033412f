// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "partition/partition_state.h"

#include <gtest/gtest.h>

#include "partition/offset_waiters.h"

namespace castellan::partition {
namespace {

constexpr NodeId self{1}, second{2}, third{3};
constexpr Duration lag_max = std::chrono::seconds(30);

PartitionMetadata metadata(NodeId leader, int32_t leader_epoch, int32_t partition_epoch, std::vector<NodeId> isr = {self, second, third}) {
  PartitionMetadata result;
  result.leader = leader;
  result.leader_epoch = leader_epoch;
  result.partition_epoch = partition_epoch;
  for (const NodeId id : {self, second, third}) result.replicas.push_back({id, 100 + id.value, true});
  result.isr = std::move(isr);
  return result;
}

// Broker 1 leads three replicas in epoch 5.
struct Leader {
  PartitionState state{self, lag_max};
  MonotonicTime now{1'000'000'000'000};

  explicit Leader(std::vector<NodeId> isr = {self, second, third}, int64_t log_end = 10, int64_t high_watermark = 10) {
    state.open(log_end, high_watermark);
    EXPECT_TRUE(state.apply(now, metadata(self, 5, 8, std::move(isr))).became_leader);
  }

  Effects fetch(NodeId replica, int64_t offset) { return state.on_follower_fetch(now, {replica, offset, 0, 100 + replica.value}); }
  void pass(Duration time) { now = now + time; }
};

std::vector<int32_t> ids(const std::optional<AlterPartition>& alter) {
  std::vector<int32_t> result;
  if (alter)
    for (const auto& replica : alter->isr) result.push_back(replica.id.value);
  return result;
}

TEST(PartitionState, SoleReplicaCommitsWhatItAppends) {
  PartitionState state(self, lag_max);
  PartitionMetadata alone = metadata(self, 0, 0, {self});
  alone.replicas.resize(1);
  state.open(0, 0);
  state.apply({}, alone);
  EXPECT_TRUE(state.on_log_end({}, 7).high_watermark_moved);
  EXPECT_EQ(state.high_watermark(), 7);
  EXPECT_EQ(state.check_replicated(7), ErrorCode::NONE);
  EXPECT_EQ(state.check_replicated(8), std::nullopt);
}

TEST(PartitionState, HighWatermarkIsWhatEveryInSyncReplicaHas) {
  Leader l;
  EXPECT_FALSE(l.state.on_log_end(l.now, 20).high_watermark_moved);
  l.fetch(second, 20);
  EXPECT_EQ(l.state.high_watermark(), 10);
  EXPECT_TRUE(l.fetch(third, 15).high_watermark_moved);
  EXPECT_EQ(l.state.high_watermark(), 15);
  l.fetch(third, 20);
  EXPECT_EQ(l.state.high_watermark(), 20);
}

TEST(PartitionState, HighWatermarkOfALeaderNeverGoesBack) {
  Leader l;
  l.fetch(second, 3);
  l.fetch(third, 3);
  EXPECT_EQ(l.state.high_watermark(), 10);
}

TEST(PartitionState, ReplicaOutsideTheIsrDoesNotHoldItBack) {
  Leader l({self, second});
  l.state.on_log_end(l.now, 20);
  EXPECT_TRUE(l.fetch(second, 20).high_watermark_moved);
}

TEST(PartitionState, ReplicaThatIsCaughtUpAndComingInIsWaitedFor) {
  Leader l({self, second});
  const Effects effects = l.fetch(third, 10);
  EXPECT_EQ(ids(effects.alter), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(effects.alter->isr[2].broker_epoch, 103);
  EXPECT_EQ(effects.alter->partition_epoch, 8);
  l.state.on_log_end(l.now, 20);
  l.fetch(second, 20);
  EXPECT_EQ(l.state.high_watermark(), 10);  // the controller may have let it in already
  l.state.on_altered(l.now, {ErrorCode::NONE, 5, 9, {self, second, third}});
  EXPECT_EQ(l.state.isr().size(), 3u);
  EXPECT_EQ(l.state.partition_epoch(), 9);
  l.fetch(third, 20);
  EXPECT_EQ(l.state.high_watermark(), 20);
}

TEST(PartitionState, NoSecondRequestWhileOneIsUnderWay) {
  Leader l({self});
  EXPECT_TRUE(l.fetch(second, 10).alter);
  EXPECT_FALSE(l.fetch(third, 10).alter);
  l.state.on_altered(l.now, {ErrorCode::NONE, 5, 9, {self, second}});
  EXPECT_TRUE(l.fetch(third, 10).alter);
}

TEST(PartitionState, FollowerMustReachTheHighWatermarkAndTheLeadersFirstOffset) {
  Leader behind_mark({self}, 20, 15);
  EXPECT_EQ(behind_mark.state.high_watermark(), 20);  // alone in the ISR
  EXPECT_FALSE(behind_mark.fetch(second, 19).alter);
  EXPECT_TRUE(behind_mark.fetch(second, 20).alter);

  Leader fresh({self, third}, 20, 15);
  EXPECT_EQ(fresh.state.high_watermark(), 15);
  EXPECT_FALSE(fresh.fetch(second, 17).alter);  // beyond the mark, but not at the start of this leader's epoch
  EXPECT_TRUE(fresh.fetch(second, 20).alter);
}

TEST(PartitionState, FencedBrokerOrOneThatStartedAnewIsNotTakenIn) {
  Leader l({self});
  EXPECT_FALSE(l.state.on_follower_fetch(l.now, {second, 10, 0, 55}).alter);
  EXPECT_TRUE(l.state.on_follower_fetch(l.now, {second, 10, 0, -1}).alter);
  auto changed = metadata(self, 5, 9, {self});
  changed.replicas[2].is_active = false;
  l.state.apply(l.now, changed);
  EXPECT_FALSE(l.fetch(third, 10).alter);
}

TEST(PartitionState, FollowerThatFallsBehindIsPutOut) {
  Leader l;
  l.state.on_log_end(l.now, 20);
  l.pass(lag_max);
  l.fetch(second, 20);
  EXPECT_FALSE(l.state.on_time(l.now).alter);
  l.pass(Duration(1));
  EXPECT_EQ(ids(l.state.on_time(l.now).alter), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(l.state.high_watermark(), 10);  // until it is confirmed the old ISR counts
  EXPECT_TRUE(l.state.on_altered(l.now, {ErrorCode::NONE, 5, 9, {self, second}}).high_watermark_moved);
  EXPECT_EQ(l.state.high_watermark(), 20);
}

TEST(PartitionState, FollowerThatHasEverythingStaysHoweverLongNothingComes) {
  Leader l;
  l.fetch(second, 10);
  l.fetch(third, 10);
  l.pass(10 * lag_max);
  EXPECT_FALSE(l.state.on_time(l.now).alter);
}

TEST(PartitionState, FollowerOfABusyLeaderIsCaughtUpAsOfItsLastFetch) {
  Leader l;
  for (int i = 0; i < 10; ++i) {
    l.pass(std::chrono::seconds(10));
    l.state.on_log_end(l.now, 20 + 10 * i);
    l.fetch(second, 10 + 10 * i);  // always one batch behind
    l.fetch(third, 20 + 10 * i);
  }
  EXPECT_FALSE(l.state.on_time(l.now).alter);
}

TEST(PartitionState, AnswersOfTheControllerAreFollowed) {
  const ErrorCode wait[] = {ErrorCode::FENCED_LEADER_EPOCH, ErrorCode::INVALID_UPDATE_VERSION, ErrorCode::UNKNOWN_TOPIC_ID,
                            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::INVALID_REQUEST, ErrorCode::NEW_LEADER_ELECTED};
  for (const ErrorCode error : wait) {
    Leader l({self});
    ASSERT_TRUE(l.fetch(second, 10).alter);
    EXPECT_FALSE(l.state.on_altered(l.now, {error}).alter);
    EXPECT_TRUE(l.state.is_altering());
    l.state.apply(l.now, metadata(self, 5, 9, {self}));
    EXPECT_FALSE(l.state.is_altering());
  }
  for (const ErrorCode error : {ErrorCode::OPERATION_NOT_ATTEMPTED, ErrorCode::INELIGIBLE_REPLICA}) {
    Leader l({self});
    l.fetch(second, 10);
    l.state.on_altered(l.now, {error});
    EXPECT_FALSE(l.state.is_altering());
    EXPECT_EQ(l.state.isr(), std::vector<NodeId>{self});
  }
  Leader l({self});
  const auto first = l.fetch(second, 10).alter;
  EXPECT_EQ(l.state.on_altered(l.now, {ErrorCode::NOT_CONTROLLER}).alter, first);  // again
}

TEST(PartitionState, BelowTheMinimumNothingIsCommitted) {
  PartitionState state(self, lag_max);
  state.open(0, 0);
  auto strict = metadata(self, 0, 0, {self});
  strict.min_insync_replicas = 2;
  state.apply({}, strict);
  EXPECT_EQ(state.check_append(), ErrorCode::NOT_ENOUGH_REPLICAS);
  EXPECT_FALSE(state.on_log_end({}, 5).high_watermark_moved);
  strict.isr = {self, second};
  strict.partition_epoch = 1;
  state.apply({}, strict);
  EXPECT_EQ(state.check_append(), ErrorCode::NONE);
  state.on_follower_fetch({}, {second, 5, 0, -1});
  EXPECT_EQ(state.check_replicated(5), ErrorCode::NONE);
  strict.isr = {self};
  strict.partition_epoch = 2;
  state.apply({}, strict);
  EXPECT_EQ(state.check_replicated(5), ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND);
}

TEST(PartitionState, MinimumIsNeverAboveTheNumberOfReplicas) {
  PartitionState state(self, lag_max);
  auto alone = metadata(self, 0, 0, {self});
  alone.replicas.resize(1);
  alone.min_insync_replicas = 2;
  state.open(0, 0);
  state.apply({}, alone);
  EXPECT_EQ(state.check_append(), ErrorCode::NONE);
}

TEST(PartitionState, OlderMetadataIsIgnored) {
  Leader l;
  const Effects effects = l.state.apply(l.now, metadata(second, 4, 7));
  EXPECT_FALSE(effects.became_follower);
  EXPECT_TRUE(l.state.is_leader());
}

TEST(PartitionState, NewTermForgetsWhatFollowersHad) {
  Leader l;
  l.state.on_log_end(l.now, 20);
  l.fetch(second, 20);
  EXPECT_TRUE(l.state.apply(l.now, metadata(self, 6, 9)).became_leader);
  l.fetch(third, 20);
  EXPECT_EQ(l.state.high_watermark(), 10);  // the second must say it again
  EXPECT_TRUE(l.fetch(second, 20).high_watermark_moved);
}

TEST(PartitionState, SameTermWithAnotherIsrKeepsIt) {
  Leader l;
  l.state.on_log_end(l.now, 20);
  l.fetch(second, 20);
  auto without_third = metadata(self, 5, 9, {self, second});
  without_third.replicas[2].is_active = false;  // fenced: else it would be waited for until the lag time is over
  const Effects effects = l.state.apply(l.now, without_third);
  EXPECT_FALSE(effects.became_leader);
  EXPECT_TRUE(effects.isr_changed && effects.high_watermark_moved);
  EXPECT_EQ(l.state.high_watermark(), 20);
}

TEST(PartitionState, FollowerTakesTheLeadersMarkAsFarAsItsOwnLog) {
  PartitionState state(self, lag_max);
  state.open(10, 4);
  EXPECT_TRUE(state.apply({}, metadata(second, 3, 3)).became_follower);
  EXPECT_TRUE(state.on_leader_high_watermark(15).high_watermark_moved);
  EXPECT_EQ(state.high_watermark(), 10);
  EXPECT_FALSE(state.on_leader_high_watermark(9).high_watermark_moved);
  EXPECT_TRUE(state.on_log_end({}, 8).high_watermark_moved);  // truncated
  EXPECT_EQ(state.high_watermark(), 8);
}

TEST(PartitionState, EpochsOfClientsAreChecked) {
  Leader l;
  EXPECT_EQ(l.state.check_epoch(-1), ErrorCode::NONE);
  EXPECT_EQ(l.state.check_epoch(5), ErrorCode::NONE);
  EXPECT_EQ(l.state.check_epoch(4), ErrorCode::FENCED_LEADER_EPOCH);
  EXPECT_EQ(l.state.check_epoch(6), ErrorCode::UNKNOWN_LEADER_EPOCH);
  EXPECT_EQ(l.state.check_replica(second, 5), ErrorCode::NONE);
  EXPECT_EQ(l.state.check_replica(NodeId{9}, 5), ErrorCode::UNKNOWN_LEADER_EPOCH);
  EXPECT_EQ(l.state.check_replica(NodeId{9}, -1), ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

TEST(PartitionState, LeaderElectedUncleanlySaysThatItHasRecovered) {
  PartitionState state(self, lag_max);
  state.open(10, 4);
  auto recovering = metadata(self, 3, 3, {self});
  recovering.is_recovering = true;
  const Effects effects = state.apply({}, recovering);
  EXPECT_EQ(ids(effects.alter), std::vector<int32_t>{1});
}

TEST(PartitionState, OpenTransactionBoundsTheStableOffset) {
  Leader l({self}, 20, 20);
  EXPECT_EQ(l.state.last_stable_offset(std::nullopt), 20);
  EXPECT_EQ(l.state.last_stable_offset(12), 12);
  EXPECT_EQ(l.state.last_stable_offset(25), 20);
}

TEST(PartitionState, LowWatermarkIsTheLowestStartOfTheLiving) {
  Leader l;
  l.state.on_follower_fetch(l.now, {second, 10, 4, -1});
  l.state.on_follower_fetch(l.now, {third, 10, 6, -1});
  EXPECT_EQ(l.state.low_watermark(5), 4);
  auto changed = metadata(self, 5, 9);
  changed.replicas[1].is_active = false;
  l.state.apply(l.now, changed);
  EXPECT_EQ(l.state.low_watermark(5), 5);
}

TEST(OffsetWaiters, AreReleasedInOrderWhenTheMarkReachesThem) {
  OffsetWaiters waiters;
  waiters.add(1, 10);
  waiters.add(2, 5);
  waiters.add(3, 10);
  waiters.add(4, 20);
  EXPECT_TRUE(waiters.release(4).empty());
  EXPECT_TRUE(waiters.remove(3));
  EXPECT_FALSE(waiters.remove(3));
  EXPECT_EQ(waiters.release(10), (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(waiters.release_all(), std::vector<uint64_t>{4});
  EXPECT_TRUE(waiters.empty());
}

}  // namespace
}  // namespace castellan::partition

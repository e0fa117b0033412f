// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/partition_change.h"

#include <gtest/gtest.h>

#include "controller/testing.h"

namespace castellan::controller {
namespace {

NodeIds nodes(Ids plain) {
  NodeIds all;
  for (int32_t id : plain) all.emplace_back(id);
  return all;
}

const PartitionKey key{TopicId(Uuid{1, 1}), 0};

PartitionState state_of(Ids replicas, Ids isr, int32_t leader) {
  return {.replicas = nodes(replicas), .isr = nodes(isr), .leader = NodeId(leader), .leader_epoch = Epoch{5}, .partition_epoch = 9};
}

struct Rules : PartitionRules {
  explicit Rules(Ids alive, int16_t level = 33, bool elr = false) {
    acceptable_leader = [alive = nodes(alive)](NodeId id) { return std::ranges::find(alive, id) != alive.end(); };
    default_directory = [](NodeId) { return directory_unassigned; };
    version = *image::MetadataVersion::from_level(level);
    elr_enabled = elr;
    min_isr = 2;
  }
};

using Change = std::optional<wire::PartitionChangeRecord>;

Change change(const PartitionState& now, const PartitionTarget& target, const PartitionRules& rules) {
  auto record = change_partition(key, now, target, rules);
  if (!record) return std::nullopt;
  (void)image::encode_metadata_record(*record);
  return std::get<wire::PartitionChangeRecord>(record->message);
}

Change with_isr(const PartitionState& now, Ids isr, const PartitionRules& rules, Election election = Election::ONLINE) {
  PartitionTarget target(now);
  target.isr = nodes(isr);
  target.election = election;
  return change(now, target, rules);
}

TEST(PartitionChange, NothingToChangeIsNoRecord) {
  const auto now = state_of({1, 2, 3}, {1, 2, 3}, 1);
  for (const Election election : {Election::PREFERRED, Election::ONLINE, Election::UNCLEAN}) {
    EXPECT_FALSE(with_isr(now, {1, 2, 3}, Rules({1, 2, 3}), election));
  }
}

TEST(PartitionChange, AShrunkIsrIsAllThatIsWrittenSince36) {
  const auto now = state_of({1, 2, 3}, {1, 2, 3}, 1);
  const auto modern = with_isr(now, {1, 2}, Rules({1, 2, 3}));
  EXPECT_EQ(modern->isr, (Ids{1, 2}));
  EXPECT_EQ(modern->leader, -2);
  EXPECT_EQ(with_isr(now, {1, 2}, Rules({1, 2, 3}, 11))->leader, 1) << "before 3.6-IV0 the leader epoch goes up (KAFKA-15021)";
  EXPECT_EQ(with_isr(state_of({1, 2, 3}, {1}, 1), {1, 2}, Rules({1, 2, 3}, 11))->leader, -2) << "growth never bumps";
}

TEST(PartitionChange, TheNextReplicaInSyncLeads) {
  const auto now = state_of({1, 2, 3}, {1, 2, 3}, 1);
  const auto moved = with_isr(now, {2, 3}, Rules({2, 3}));
  EXPECT_EQ(moved->leader, 2);
  EXPECT_EQ(moved->isr, (Ids{2, 3}));
  EXPECT_EQ(moved->leader_recovery_state, -1);
}

TEST(PartitionChange, TheLeaderStaysWhileItCanUnlessThePreferredOneIsAskedFor) {
  const auto now = state_of({1, 2, 3}, {1, 2, 3}, 2);
  EXPECT_FALSE(with_isr(now, {1, 2, 3}, Rules({1, 2, 3})));
  EXPECT_EQ(with_isr(now, {1, 2, 3}, Rules({1, 2, 3}), Election::PREFERRED)->leader, 1);
  EXPECT_FALSE(with_isr(now, {1, 2, 3}, Rules({2, 3}), Election::PREFERRED));
}

TEST(PartitionChange, WithoutElrTheLastMemberStaysAndNobodyLeads) {
  const auto now = state_of({1, 2}, {1}, 1);
  const auto change = with_isr(now, {}, Rules({2}));
  EXPECT_EQ(change->leader, -1);
  EXPECT_FALSE(change->isr);
}

TEST(PartitionChange, AnUncleanLeaderIsAloneAndRecovers) {
  const auto now = state_of({1, 2}, {1}, 1);
  const auto change = with_isr(now, {}, Rules({2}), Election::UNCLEAN);
  EXPECT_EQ(change->leader, 2);
  EXPECT_EQ(change->isr, (Ids{2}));
  EXPECT_EQ(change->leader_recovery_state, 1);
  auto recovering = now;
  recovering.recovery = image::LeaderRecoveryState::RECOVERING;
  EXPECT_EQ(with_isr(recovering, {}, Rules({2}), Election::UNCLEAN)->leader_recovery_state, -1);
}

TEST(EligibleLeaders, WhoLeavesBelowTheMinimumStaysEligible) {
  const auto now = state_of({1, 2, 3}, {1, 2, 3}, 1);
  const Rules rules({1, 2, 3}, 33, true);
  EXPECT_FALSE(with_isr(now, {1, 2}, rules)->eligible_leader_replicas) << "still at the minimum";
  EXPECT_EQ(with_isr(now, {1}, rules)->eligible_leader_replicas, (Ids{2, 3}));
  auto below = state_of({1, 2, 3}, {1}, 1);
  below.elr = nodes({2, 3});
  EXPECT_EQ(with_isr(below, {1, 2}, rules)->eligible_leader_replicas, Ids{}) << "back at the minimum";
}

TEST(EligibleLeaders, WhenAllAreGoneTheLastLeaderIsRemembered) {
  auto now = state_of({1, 2, 3}, {1}, 1);
  now.elr = nodes({2, 3});
  const auto change = with_isr(now, {}, Rules({}, 33, true));
  EXPECT_EQ(change->leader, -1);
  EXPECT_EQ(change->isr, Ids{});
  EXPECT_EQ(change->eligible_leader_replicas, (Ids{1, 2, 3}));
  EXPECT_EQ(change->last_known_elr, (Ids{1}));
}

TEST(EligibleLeaders, AnEligibleReplicaLeadsCleanly) {
  auto now = state_of({1, 2, 3}, {}, -1);
  now.elr = nodes({1, 2, 3});
  now.last_known_elr = nodes({1});
  const auto change = with_isr(now, {}, Rules({2}, 33, true));
  EXPECT_EQ(change->leader, 2);
  EXPECT_EQ(change->isr, (Ids{2}));
  EXPECT_EQ(change->eligible_leader_replicas, (Ids{1, 3}));
  EXPECT_EQ(change->last_known_elr, Ids{});
  EXPECT_EQ(change->leader_recovery_state, -1);
}

TEST(EligibleLeaders, AnUncleanShutdownEndsEligibility) {
  auto now = state_of({1, 2}, {1}, 1);
  now.elr = nodes({2});
  PartitionTarget target(now);
  target.unclean_shutdown = nodes({2});
  EXPECT_EQ(change(now, target, Rules({1}, 33, true))->eligible_leader_replicas, Ids{});
}

TEST(EligibleLeaders, TheLastKnownLeaderIsElectedWhenNobodyIsEligible) {
  auto now = state_of({1, 2}, {}, -1);
  now.last_known_elr = nodes({2});
  const auto elected = with_isr(now, {}, Rules({1, 2}, 33, true));
  EXPECT_EQ(elected->leader, 2);
  EXPECT_EQ(elected->isr, (Ids{2}));
  EXPECT_EQ(elected->leader_recovery_state, 1);
  now.last_known_elr = nodes({1, 2});
  EXPECT_FALSE(with_isr(now, {}, Rules({1, 2}, 33, true))) << "only when it is a single one";
}

TEST(EligibleLeaders, WithTheFeatureOffWhatIsLeftIsCleared) {
  auto now = state_of({1, 2}, {1}, 1);
  now.elr = nodes({2});
  EXPECT_EQ(with_isr(now, {1, 2}, Rules({1, 2}))->eligible_leader_replicas, Ids{});
}

TEST(Reassignment, AddsFirstRemovesWhenInSync) {
  const auto now = state_of({1, 2}, {1, 2}, 1);
  const Reassignment plan = reassignment_to(now, nodes({3, 2}));
  EXPECT_EQ(ids(plan.replicas), (Ids{3, 2, 1}));
  EXPECT_EQ(ids(plan.removing), (Ids{1}));
  EXPECT_EQ(ids(plan.adding), (Ids{3}));
  PartitionTarget target(now);
  target.replicas = plan.replicas;
  target.removing = plan.removing;
  target.adding = plan.adding;
  const auto begun = change(now, target, Rules({1, 2, 3}));
  EXPECT_EQ(begun->replicas, (Ids{3, 2, 1}));
  EXPECT_EQ(begun->leader, -2);
  EXPECT_EQ(begun->directories->size(), 3u);

  const PartitionState moving = image::merge(now, *begun);
  const auto done = with_isr(moving, {1, 2, 3}, Rules({1, 2, 3}));
  EXPECT_EQ(done->replicas, (Ids{3, 2}));
  EXPECT_EQ(done->isr, (Ids{2, 3}));
  EXPECT_EQ(done->leader, 3);
  EXPECT_EQ(done->removing_replicas, Ids{});
  EXPECT_EQ(done->adding_replicas, Ids{});
}

TEST(Reassignment, ARemovalOnlyIsDoneAtOnceAndRaisesTheLeaderEpoch) {
  const auto now = state_of({1, 2, 3}, {1, 2, 3}, 1);
  PartitionTarget target(now);
  const Reassignment plan = reassignment_to(now, nodes({1, 2}));
  target.replicas = plan.replicas;
  target.removing = plan.removing;
  const auto record = change(now, target, Rules({1, 2, 3}));
  EXPECT_EQ(record->replicas, (Ids{1, 2}));
  EXPECT_EQ(record->isr, (Ids{1, 2}));
  EXPECT_EQ(record->leader, 1);
  EXPECT_FALSE(record->removing_replicas);
}

TEST(Reassignment, AReorderingTakesItsDirectoriesAlong) {
  auto now = state_of({1, 2}, {1, 2}, 1);
  now.directories = {DirectoryId(Uuid{4, 1}), DirectoryId(Uuid{4, 2})};
  PartitionTarget target(now);
  target.replicas = nodes({2, 1});
  const auto record = change(now, target, Rules({1, 2}));
  EXPECT_EQ(record->replicas, (Ids{2, 1}));
  EXPECT_EQ(record->directories, (std::vector<Uuid>{{4, 2}, {4, 1}}));
  EXPECT_FALSE(change(now, target, Rules({1, 2}, 16))->directories) << "no directories before 3.7-IV2";
}

}  // namespace
}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/harness.h"

namespace castellan::group {
namespace {

using testing::Harness;
using JoinResponse = wire::JoinGroupResponse;
using SyncResponse = wire::SyncGroupResponse;

Configuration limited_to(int32_t members) {
  Configuration configuration = Harness::without_delay();
  configuration.group_size_max = members;
  return configuration;
}

TEST(Rebalance, OneMemberLeadsItsGroup) {
  Harness h(Harness::without_delay());
  const auto joining = h.begin_join("g");
  const auto joined = h.reply<JoinResponse>(joining.token);
  EXPECT_EQ(joined.error_code, 0);
  EXPECT_EQ(joined.generation_id, 1);
  EXPECT_EQ(joined.leader, joining.member);
  EXPECT_EQ(joined.protocol_name, "range");
  ASSERT_EQ(joined.members.size(), 1u);
  EXPECT_TRUE(joining.member.starts_with("client-"));
  const auto synced = h.reply<SyncResponse>(h.sync("g", joining.member, 1, {{joining.member, "mine"}}));
  EXPECT_EQ(as_text(synced.assignment), "mine");
  EXPECT_EQ(h.describe("g").group_state, "Stable");
}

TEST(Rebalance, BeforeVersionFourAMemberIsAddedAtOnce) {
  Harness h(Harness::without_delay());
  const auto joined = h.reply<JoinResponse>(h.send(h.join_request("g"), 3));
  EXPECT_EQ(joined.error_code, 0);
  EXPECT_EQ(joined.generation_id, 1);
}

TEST(Rebalance, RefusedJoinBeforeVersionSevenHasAnEmptyProtocolNotNull) {
  Harness h(Harness::without_delay());
  EXPECT_EQ(h.reply<JoinResponse>(h.send(h.join_request("g"), 6)).protocol_name, "");
  EXPECT_EQ(h.reply<JoinResponse>(h.send(h.join_request("g"), 7)).protocol_name, std::nullopt);
}

TEST(Rebalance, MemberIdThatIsNotUsedExpires) {
  Harness h(Harness::without_delay());
  const auto refused = h.reply<JoinResponse>(h.send(h.join_request("g"), 9));
  h.advance(29'999);
  EXPECT_EQ(h.shard.state().groups().size(), 1u);
  h.advance(1);
  const auto late = h.reply<JoinResponse>(h.send(h.join_request("g", refused.member_id), 9));
  EXPECT_EQ(Harness::error(late.error_code), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(Rebalance, FirstMembersWaitForTheDelayAndShareAGeneration) {
  Harness h;
  const auto a = h.begin_join("g", "a");
  h.advance(2'000);
  const auto b = h.begin_join("g", "b");
  EXPECT_FALSE(h.is_answered(a.token));
  h.advance(1'000);  // somebody came: three more seconds
  EXPECT_FALSE(h.is_answered(a.token));
  h.advance(3'000);
  EXPECT_EQ(h.reply<JoinResponse>(a.token).generation_id, 1);
  EXPECT_EQ(h.reply<JoinResponse>(b.token).generation_id, 1);
  EXPECT_EQ(h.reply<JoinResponse>(a.token).members.size() + h.reply<JoinResponse>(b.token).members.size(), 2u);
}

TEST(Rebalance, DelayIsNotExtendedBeyondTheRebalanceTimeout) {
  Harness h;
  const auto first = h.begin_join("g");
  for (int i = 0; i < 9; ++i) {
    h.advance(2'500);
    if (h.is_answered(first.token)) break;
    h.begin_join("g");
  }
  EXPECT_TRUE(h.is_answered(first.token));
  EXPECT_LE(h.now.monotonic.nanoseconds, 1'000'000'000'000 + 22'500'000'000);
}

// Two members in generation 2.
struct Two {
  Harness h{Harness::without_delay()};
  std::string a = h.stable_group("g");
  std::string b;

  Two() {
    const auto joining = h.begin_join("g", "b");
    b = joining.member;
    EXPECT_EQ(h.heartbeat("g", a, 1), ErrorCode::REBALANCE_IN_PROGRESS);
    const auto rejoined = h.reply<JoinResponse>(h.send(h.join_request("g", a), 9));
    EXPECT_EQ(rejoined.generation_id, 2);
    EXPECT_EQ(rejoined.members.size(), 2u);
    EXPECT_TRUE(h.reply<JoinResponse>(joining.token).members.empty());
    const Token follower = h.sync("g", b, 2);
    EXPECT_FALSE(h.is_answered(follower));
    EXPECT_EQ(as_text(h.reply<SyncResponse>(h.sync("g", a, 2, {{a, "A"}, {b, "B"}})).assignment), "A");
    EXPECT_EQ(as_text(h.reply<SyncResponse>(follower).assignment), "B");
  }
};

TEST(Rebalance, TwoMembersShareAGeneration) {
  Two two;
  EXPECT_EQ(two.h.describe("g").members.size(), 2u);
  EXPECT_EQ(two.h.describe("g").group_state, "Stable");
}

TEST(Rebalance, FollowerThatRejoinsWithNothingNewGetsTheCurrentGeneration) {
  Two two;
  const auto again = two.h.reply<JoinResponse>(two.h.send(two.h.join_request("g", two.b), 9));
  EXPECT_EQ(again.generation_id, 2);
  EXPECT_TRUE(again.members.empty());
  EXPECT_EQ(two.h.describe("g").group_state, "Stable");
}

TEST(Rebalance, LeaderThatRejoinsStartsARebalance) {
  Two two;
  EXPECT_FALSE(two.h.is_answered(two.h.send(two.h.join_request("g", two.a), 9)));
  EXPECT_EQ(two.h.describe("g").group_state, "PreparingRebalance");
  EXPECT_EQ(two.h.heartbeat("g", two.b, 2), ErrorCode::REBALANCE_IN_PROGRESS);
}

TEST(Rebalance, FollowerWithChangedMetadataStartsARebalance) {
  Two two;
  auto request = two.h.join_request("g", two.b);
  request.protocols = {Harness::protocol("range", "other")};
  EXPECT_FALSE(two.h.is_answered(two.h.send(request, 9)));
  EXPECT_EQ(two.h.describe("g").group_state, "PreparingRebalance");
}

TEST(Rebalance, MemberThatDoesNotRejoinIsLeftOut) {
  Two two;
  const Token waiting = two.h.send(two.h.join_request("g", two.a), 9);
  two.h.advance(19'999);
  EXPECT_FALSE(two.h.is_answered(waiting));
  two.h.advance(1);
  EXPECT_EQ(two.h.reply<JoinResponse>(waiting).members.size(), 1u);
  EXPECT_EQ(two.h.heartbeat("g", two.b, 2), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(Rebalance, LeaderThatDoesNotRejoinIsReplaced) {
  Two two;
  auto request = two.h.join_request("g", two.b);
  request.protocols = {Harness::protocol("range", "other")};
  const Token waiting = two.h.send(request, 9);
  two.h.advance(20'000);
  EXPECT_EQ(two.h.reply<JoinResponse>(waiting).leader, two.b);
  EXPECT_EQ(two.h.reply<JoinResponse>(waiting).members.size(), 1u);
}

TEST(Rebalance, SilentMemberIsRemovedAfterItsSession) {
  Two two;
  two.h.advance(29'000);
  EXPECT_EQ(two.h.heartbeat("g", two.a, 2), ErrorCode::NONE);
  two.h.advance(1'000);
  EXPECT_EQ(two.h.heartbeat("g", two.a, 2), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(two.h.heartbeat("g", two.b, 2), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(Rebalance, CommitCountsAsAHeartbeat) {
  Two two;
  two.h.advance(29'000);
  EXPECT_EQ(two.h.commit_offset("g", two.b, 2, 5), ErrorCode::NONE);
  EXPECT_EQ(two.h.heartbeat("g", two.a, 2), ErrorCode::NONE);
  two.h.advance(20'000);
  EXPECT_EQ(two.h.heartbeat("g", two.b, 2), ErrorCode::NONE);
}

TEST(Rebalance, WaitingJoinCountsAsAHeartbeat) {
  Two two;
  auto request = two.h.join_request("g", two.a);
  request.session_timeout_ms = 6'000;
  const Token waiting = two.h.send(request, 9);
  two.h.advance(19'000);
  EXPECT_FALSE(two.h.is_answered(waiting));
  two.h.advance(1'000);
  EXPECT_EQ(two.h.reply<JoinResponse>(waiting).error_code, 0);
}

TEST(Rebalance, LeaveOfAFollowerTellsTheOthersToRejoin) {
  Two two;
  EXPECT_EQ(two.h.leave("g", two.b).members.at(0).error_code, 0);
  EXPECT_EQ(two.h.heartbeat("g", two.a, 2), ErrorCode::REBALANCE_IN_PROGRESS);
  const auto alone = two.h.reply<JoinResponse>(two.h.send(two.h.join_request("g", two.a), 9));
  EXPECT_EQ(alone.generation_id, 3);
  EXPECT_EQ(alone.members.size(), 1u);
}

TEST(Rebalance, GroupThatEveryoneLeftIsEmptyAndItsGenerationGoesOn) {
  Harness h(Harness::without_delay());
  const std::string a = h.stable_group("g");
  h.leave("g", a);
  const auto described = h.describe("g");
  EXPECT_EQ(described.group_state, "Empty");
  EXPECT_EQ(described.protocol_type, "consumer");
  const auto again = h.begin_join("g");
  EXPECT_EQ(h.reply<JoinResponse>(again.token).generation_id, 3);
}

TEST(Rebalance, LeaderThatNeverSyncsIsRemoved) {
  Two two;
  const Token a = two.h.send(two.h.join_request("g", two.a), 9);
  two.h.send(two.h.join_request("g", two.b), 9);
  EXPECT_EQ(two.h.reply<JoinResponse>(a).generation_id, 3);
  const Token follower = two.h.sync("g", two.b, 3);
  two.h.advance(20'000);
  EXPECT_EQ(Harness::error(two.h.reply<SyncResponse>(follower).error_code), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(two.h.heartbeat("g", two.a, 3), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(Rebalance, MemberThatTheLeaderForgotGetsAnEmptyAssignment) {
  Two two;
  const Token a = two.h.send(two.h.join_request("g", two.a), 9);
  two.h.send(two.h.join_request("g", two.b), 9);
  ASSERT_TRUE(two.h.is_answered(a));
  const Token follower = two.h.sync("g", two.b, 3);
  two.h.sync("g", two.a, 3, {{two.a, "A"}, {"stranger", "X"}});
  EXPECT_EQ(two.h.reply<SyncResponse>(follower).error_code, 0);
  EXPECT_TRUE(two.h.reply<SyncResponse>(follower).assignment.empty());
}

TEST(Rebalance, ProtocolThatAllKnowAndMostPreferIsChosen) {
  Harness h;
  const auto with = [&](std::vector<std::string> names) {
    auto request = h.join_request("g");
    request.protocols.clear();
    for (const auto& name : names) request.protocols.push_back(Harness::protocol(name, name));
    return request;
  };
  const auto a = h.begin_join("g", "a", with({"sticky", "range", "own"}));
  h.begin_join("g", "b", with({"range", "sticky"}));
  h.begin_join("g", "c", with({"range", "sticky"}));
  h.advance(10'000);
  EXPECT_EQ(h.reply<JoinResponse>(a.token).protocol_name, "range");
}

TEST(Rebalance, ProtocolThatTheGroupDoesNotHaveIsRefused) {
  Two two;
  auto request = two.h.join_request("g");
  request.protocols = {Harness::protocol("sticky", "")};
  EXPECT_EQ(Harness::error(two.h.reply<JoinResponse>(two.h.send(request, 9)).error_code), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  request.protocol_type = "connect";
  EXPECT_EQ(Harness::error(two.h.reply<JoinResponse>(two.h.send(request, 9)).error_code), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
}

TEST(Rebalance, JoinWithoutProtocolsMakesAnEmptyGroupAndIsRefused) {
  Harness h(Harness::without_delay());
  auto request = h.join_request("g");
  request.protocols.clear();
  EXPECT_EQ(Harness::error(h.reply<JoinResponse>(h.send(request, 9)).error_code), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(h.describe("g").group_state, "Empty");
}

TEST(Rebalance, GroupThatIsFullTakesNobodyMore) {
  Harness h(limited_to(1));
  const std::string a = h.stable_group("g");
  const auto refused = h.reply<JoinResponse>(h.send(h.join_request("g"), 9));
  EXPECT_EQ(Harness::error(refused.error_code), ErrorCode::GROUP_MAX_SIZE_REACHED);
  EXPECT_EQ(refused.member_id, "");
  EXPECT_EQ(h.heartbeat("g", a, 1), ErrorCode::NONE);
}

TEST(Rebalance, GroupMadeTooLargeByALowerLimitShrinksWhenItRebalances) {
  Two two;
  Harness other(limited_to(1));
  two.h.reload_into(other);
  EXPECT_EQ(other.describe("g").group_state, "PreparingRebalance");
  const Token a = other.send(other.join_request("g", two.a), 9);
  EXPECT_EQ(Harness::error(other.reply<JoinResponse>(other.send(other.join_request("g", two.b), 9)).error_code),
            ErrorCode::GROUP_MAX_SIZE_REACHED);
  EXPECT_EQ(other.reply<JoinResponse>(a).members.size(), 1u);
}

TEST(Rebalance, SecondJoinOfAMemberAnswersTheFirst) {
  Two two;
  const Token first = two.h.send(two.h.join_request("g", two.a), 9);
  const Token second = two.h.send(two.h.join_request("g", two.a), 9);
  EXPECT_EQ(Harness::error(two.h.reply<JoinResponse>(first).error_code), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_FALSE(two.h.is_answered(second));
}

TEST(Rebalance, MemberOfAReloadedGroupGoesOnWithoutARebalance) {
  Two two;
  Harness other(Harness::without_delay());
  two.h.reload_into(other);
  EXPECT_EQ(other.heartbeat("g", two.a, 2), ErrorCode::NONE);
  EXPECT_EQ(as_text(other.reply<SyncResponse>(other.sync("g", two.b, 2)).assignment), "B");
  other.advance(30'000);
  EXPECT_EQ(other.heartbeat("g", two.a, 2), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(Rebalance, ResigningAnswersEveryoneWhoWaits) {
  Two two;
  const Token join = two.h.send(two.h.join_request("g", two.a), 9);
  two.h.appends_at_once = false;
  const Token commit = two.h.send(Harness::commit_request("g", two.b, 2, 1), 9);
  two.h.shard.resign();
  two.h.perform();
  EXPECT_EQ(Harness::error(two.h.reply<JoinResponse>(join).error_code), ErrorCode::NOT_COORDINATOR);
  EXPECT_EQ(Harness::error(two.h.reply<wire::OffsetCommitResponse>(commit).topics.at(0).partitions.at(0).error_code), ErrorCode::NOT_COORDINATOR);
}

}  // namespace
}  // namespace castellan::group

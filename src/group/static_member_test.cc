// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/harness.h"

namespace castellan::group {
namespace {

using testing::Harness;
using JoinResponse = wire::JoinGroupResponse;
using SyncResponse = wire::SyncGroupResponse;

// A group with one static member, in generation 1.
struct Static {
  Harness h{Harness::without_delay()};
  std::string member;

  Static() {
    const auto joined = h.reply<JoinResponse>(h.send(h.join_request("g", "", "inst"), 9));
    EXPECT_EQ(joined.error_code, 0);
    member = joined.member_id;
    EXPECT_TRUE(member.starts_with("inst-"));
    h.sync("g", member, 1, {{member, "S"}}, "inst");
  }
};

TEST(StaticMember, RestartTakesItsPlaceWithoutARebalance) {
  Static s;
  const auto again = s.h.reply<JoinResponse>(s.h.send(s.h.join_request("g", "", "inst"), 9));
  EXPECT_EQ(again.error_code, 0);
  EXPECT_EQ(again.generation_id, 1);
  EXPECT_TRUE(again.skip_assignment);
  EXPECT_EQ(again.leader, again.member_id);
  EXPECT_EQ(again.members.size(), 1u);
  EXPECT_EQ(s.h.describe("g").group_state, "Stable");
  EXPECT_EQ(s.h.heartbeat("g", s.member, 1, "inst"), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(s.h.heartbeat("g", again.member_id, 1, "inst"), ErrorCode::NONE);
  EXPECT_EQ(as_text(s.h.reply<SyncResponse>(s.h.sync("g", again.member_id, 1, {}, "inst")).assignment), "S");
  EXPECT_EQ(Harness::error(s.h.reply<SyncResponse>(s.h.sync("g", s.member, 1, {}, "inst")).error_code), ErrorCode::FENCED_INSTANCE_ID);
}

TEST(StaticMember, BeforeVersionNineTheNewLeaderIsNotToldThatItLeads) {
  Static s;
  const auto again = s.h.reply<JoinResponse>(s.h.send(s.h.join_request("g", "", "inst"), 8));
  EXPECT_EQ(again.leader, s.member);
  EXPECT_FALSE(again.skip_assignment);
  EXPECT_TRUE(again.members.empty());
}

TEST(StaticMember, NewMemberIdOutlivesARestartOfTheCoordinator) {
  Static s;
  const auto again = s.h.reply<JoinResponse>(s.h.send(s.h.join_request("g", "", "inst"), 9));
  Harness other(Harness::without_delay());
  s.h.reload_into(other);
  EXPECT_EQ(other.heartbeat("g", again.member_id, 1, "inst"), ErrorCode::NONE);
}

TEST(StaticMember, FailedAppendGivesTheOldMemberItsPlaceBack) {
  Static s;
  s.h.appends_at_once = false;
  const Token token = s.h.send(s.h.join_request("g", "", "inst"), 9);
  EXPECT_FALSE(s.h.is_answered(token));
  s.h.fail_next(ErrorCode::NOT_ENOUGH_REPLICAS);
  EXPECT_EQ(Harness::error(s.h.reply<JoinResponse>(token).error_code), ErrorCode::COORDINATOR_NOT_AVAILABLE);
  EXPECT_EQ(s.h.heartbeat("g", s.member, 1, "inst"), ErrorCode::NONE);
}

TEST(StaticMember, WaitingRequestsOfTheReplacedMemberAreFenced) {
  Static s;
  const auto b = s.h.begin_join("g", "b");
  const Token old_one = s.h.send(s.h.join_request("g", s.member, "inst"), 9);
  ASSERT_EQ(s.h.reply<JoinResponse>(b.token).generation_id, 2);
  ASSERT_TRUE(s.h.is_answered(old_one));
  const auto c = s.h.begin_join("g", "c");  // a rebalance that waits for b
  const Token waiting = s.h.send(s.h.join_request("g", s.member, "inst"), 9);
  const Token newcomer = s.h.send(s.h.join_request("g", "", "inst"), 9);
  EXPECT_EQ(Harness::error(s.h.reply<JoinResponse>(waiting).error_code), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_FALSE(s.h.is_answered(newcomer));
  EXPECT_FALSE(s.h.is_answered(c.token));
}

TEST(StaticMember, StaysInTheGroupWhenItDoesNotRejoinInTime) {
  Static s;
  const auto b = s.h.begin_join("g", "b");
  s.h.advance(20'000);
  EXPECT_EQ(s.h.reply<JoinResponse>(b.token).members.size(), 2u);
  s.h.advance(30'000);  // its session ends all the same
  EXPECT_EQ(s.h.heartbeat("g", s.member, 2, "inst"), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST(StaticMember, LeavesByItsInstanceAlone) {
  Static s;
  wire::LeaveGroupRequest request;
  request.group_id = "g";
  request.members.resize(3);
  request.members[0].member_id = "zzz";
  request.members[0].group_instance_id = "inst";
  request.members[1].group_instance_id = "inst";
  request.members[2].group_instance_id = "inst-2";
  const auto response = s.h.reply<wire::LeaveGroupResponse>(s.h.send(request, 5));
  EXPECT_EQ(Harness::error(response.members.at(0).error_code), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(Harness::error(response.members.at(1).error_code), ErrorCode::NONE);
  EXPECT_EQ(Harness::error(response.members.at(2).error_code), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(s.h.describe("g").group_state, "Empty");
}

TEST(StaticMember, AnyInstanceIdIsTaken) {
  Harness h(Harness::without_delay());
  for (const std::string id : {"", "..", "a b"}) {
    const auto joined = h.reply<JoinResponse>(h.send(h.join_request("g" + id, "", id), 9));
    EXPECT_EQ(joined.error_code, 0) << id;
  }
}

TEST(StaticMember, TimeoutsOfZeroDoNotTurnInCircles) {
  Static s;
  auto request = s.h.join_request("g", s.member, "inst");
  request.rebalance_timeout_ms = -5;
  ASSERT_EQ(s.h.reply<JoinResponse>(s.h.send(request, 9)).generation_id, 2);
  s.h.sync("g", s.member, 2, {}, "inst");
  auto other = s.h.join_request("g");
  other.rebalance_timeout_ms = 0;
  const auto b = s.h.begin_join("g", "b", other);
  s.h.advance(0);  // the static member has not come back: it stays, the other one leads
  EXPECT_EQ(s.h.reply<JoinResponse>(b.token).leader, b.member);
  s.h.leave("g", b.member);
  s.h.advance(100'000);
  EXPECT_EQ(s.h.describe("g").group_state, "Empty");
}

TEST(StaticMember, PendingMemberThatCallsItselfStaticIsRefused) {
  Harness h(Harness::without_delay());
  const auto refused = h.reply<JoinResponse>(h.send(h.join_request("g"), 9));
  const auto joined = h.reply<JoinResponse>(h.send(h.join_request("g", refused.member_id, "inst"), 9));
  EXPECT_NE(joined.error_code, 0);
}

}  // namespace
}  // namespace castellan::group

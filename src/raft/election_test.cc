// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/election.h"

#include <gtest/gtest.h>

namespace castellan::raft {
namespace {

DirectoryId directory(uint64_t n) { return DirectoryId{Uuid{1, n}}; }
Voter voter(int32_t id) { return {.key = {NodeId{id}, directory(static_cast<uint64_t>(id))}, .endpoints = {}, .kraft_version = kraft_versions}; }

// A row of the table in election.h: what is granted to a candidate that is up to date, and to one that is not.
struct Row {
  Standing standing;
  bool pre_vote, leader_known, has_fetched, voted_same, voted_other;
  bool granted_up_to_date, granted_behind;
};

TEST(Election, grants_by_its_table) {
  using enum Standing;
  const Row rows[] = {
      {unattached, true, false, false, false, false, true, false},  {unattached, true, true, false, false, true, true, false},
      {unattached, false, false, false, false, false, true, false}, {unattached, false, true, false, false, false, false, false},
      {unattached, false, false, false, true, false, true, true},   {unattached, false, false, false, false, true, false, false},
      {prospective, false, false, false, false, false, true, false}, {prospective, false, true, false, false, false, false, false},
      {prospective, true, true, false, false, false, true, false},  {follower, true, true, false, false, false, true, false},
      {follower, true, true, true, false, false, false, false},     {follower, false, true, false, false, false, false, false},
      {candidate, true, false, false, false, false, true, false},   {candidate, false, false, false, false, false, false, false},
      {leader, true, true, false, false, false, false, false},      {leader, false, true, false, false, false, false, false},
      {resigned, true, true, false, false, false, true, false},     {resigned, false, true, false, false, false, false, false},
  };
  const ReplicaKey candidate_key{NodeId{2}, directory(2)};
  int number = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(number++);
    GrantQuestion question{.standing = row.standing, .leader_known = row.leader_known, .has_fetched = row.has_fetched, .voted = {},
                           .candidate = candidate_key, .pre_vote = row.pre_vote};
    if (row.voted_same) question.voted = candidate_key;
    if (row.voted_other) question.voted = ReplicaKey{NodeId{3}, directory(3)};
    question.up_to_date = true;
    EXPECT_EQ(may_grant(question), row.granted_up_to_date);
    question.up_to_date = false;
    EXPECT_EQ(may_grant(question), row.granted_behind);
  }
}

TEST(Election, a_vote_without_a_directory_stands_for_any_of_that_id) {  // P18
  GrantQuestion question{.standing = Standing::unattached, .voted = ReplicaKey{NodeId{2}, {}}, .candidate = {NodeId{2}, directory(9)}};
  EXPECT_TRUE(may_grant(question));
  question.voted = ReplicaKey{NodeId{2}, directory(2)};
  EXPECT_FALSE(may_grant(question));
}

TEST(Tally, is_won_by_a_majority_and_lost_when_none_is_left) {
  Tally tally(VoterSet({voter(1), voter(2), voter(3)}), voter(1).key);
  EXPECT_FALSE(tally.won());
  tally.record(NodeId{2}, false, false);
  EXPECT_FALSE(tally.lost());
  tally.record(NodeId{7}, true, false);  // not asked
  EXPECT_FALSE(tally.won());
  tally.record(NodeId{2}, true, false);  // a candidate's answer stays
  EXPECT_FALSE(tally.won());
  tally.record(NodeId{3}, false, false);
  EXPECT_TRUE(tally.lost());
  tally.record(NodeId{3}, true, true);  // a pre-vote may change
  EXPECT_TRUE(tally.won());
  EXPECT_EQ(tally.granting(), (std::vector{NodeId{1}, NodeId{3}}));
}

TEST(Tally, of_the_only_voter_is_won_at_once) { EXPECT_TRUE(Tally(VoterSet({voter(1)}), voter(1).key).won()); }

TEST(Tally, does_not_count_a_replica_that_is_no_voter) {
  EXPECT_FALSE(Tally(VoterSet({voter(1)}), ReplicaKey{NodeId{1}, directory(5)}).won());
}

TEST(VoterSet, knows_a_voter_by_id_and_by_directory_where_it_has_one) {
  Voter fixed = voter(3);
  fixed.key.directory = {};
  const VoterSet set({voter(1), fixed});
  EXPECT_TRUE(set.contains(voter(1).key));
  EXPECT_FALSE(set.contains({NodeId{1}, directory(9)}));
  EXPECT_FALSE(set.contains({NodeId{1}, {}}));
  EXPECT_TRUE(set.contains({NodeId{3}, directory(9)}));
  EXPECT_EQ(set.majority(), 2u);
}

TEST(VoterSet, changes_one_voter_at_a_time) {  // R224
  const VoterSet set({voter(1), voter(2)});
  EXPECT_FALSE(set.with(voter(2)));
  EXPECT_EQ(set.with(voter(3))->size(), 3u);
  EXPECT_FALSE(set.without({NodeId{2}, directory(9)}));
  const auto one = set.without(voter(2).key);
  ASSERT_TRUE(one);
  EXPECT_FALSE(one->without(voter(1).key));  // the last one
  Voter moved = voter(2);
  moved.endpoints["CONTROLLER"] = {"elsewhere", 1};
  EXPECT_EQ(set.with_update(moved)->endpoint(NodeId{2}, "CONTROLLER")->host, "elsewhere");
  moved.key.directory = directory(9);
  EXPECT_FALSE(set.with_update(moved));
}

}  // namespace
}  // namespace castellan::raft

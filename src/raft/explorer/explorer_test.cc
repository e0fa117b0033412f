// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// EXPLORE=wide makes the bounds larger: some minutes instead of some seconds.

#include "raft/explorer/explorer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/planted_fault.h"

namespace castellan::raft {
namespace {

using enum Bounds::Disk;

bool wide() {
  const char* text = std::getenv("EXPLORE");
  return text && std::string_view(text) == "wide";
}

void expect_nothing_found(const char* what, const Bounds& bounds) {
  const Exploration seen = explore(bounds);
  fmt::print("{}: {} states, {} transitions, {} beyond the bounds, longest run {} events\n", what, seen.states, seen.transitions, seen.beyond, seen.depth);
  EXPECT_TRUE(seen.complete);
  EXPECT_EQ(seen.violation, "") << fmt::format("{}", fmt::join(seen.trace, "\n"));
}

TEST(Explorer, first_election_in_every_order) {
  expect_nothing_found("first election", {.epochs = 1, .records = 0, .timeouts = 1, .disk = at_once});
}

TEST(Explorer, two_candidates_and_a_power_cut) {
  expect_nothing_found("two candidates", {.epochs = wide() ? 2 : 1, .records = 0, .crashes = 1, .timeouts = 2, .in_flight = 4, .disk = at_once, .elections_only = true});
}

TEST(Explorer, leader_that_is_followed_by_another_one_loses_nothing) {
  expect_nothing_found("election under load", {.epochs = 2, .records = 1, .timeouts = 1, .in_flight = 4, .disk = wide() ? any_time : at_once, .starts_led = true});
}

TEST(Explorer, two_elections_and_a_record) {
  expect_nothing_found("two elections", {.epochs = 3, .records = 1, .timeouts = 2, .in_flight = wide() ? 4 : 3, .disk = at_once, .starts_led = true});
}

TEST(Explorer, lost_message) {
  expect_nothing_found("lost message", {.epochs = 2, .records = 1, .losses = 1, .timeouts = 1, .in_flight = wide() ? 4 : 3, .disk = at_once, .starts_led = true});
}

TEST(Explorer, power_cut_of_any_replica_at_any_moment) {
  expect_nothing_found("power cut", {.epochs = 2, .records = wide(), .crashes = 1, .timeouts = 1, .in_flight = wide() ? 4 : 3, .disk = before_next_step, .starts_led = true});
}

TEST(Explorer, removal_of_a_follower_during_an_election) {
  expect_nothing_found("removal of a follower", {.epochs = 2, .records = 0, .timeouts = 1, .in_flight = 4, .removals = 1, .removed = NodeId{3}, .disk = at_once, .starts_led = true});
}

TEST(Explorer, removal_of_the_leader_during_an_election) {
  expect_nothing_found("removal of the leader",
                       {.epochs = 2, .records = wide(), .timeouts = 1, .in_flight = wide() ? 4 : 3, .removals = 1, .removed = NodeId{1}, .disk = at_once, .starts_led = true});
}

TEST(Explorer, addition_of_a_fourth_voter_during_an_election) {
  expect_nothing_found("addition of a voter",
                       {.epochs = 2, .records = 0, .timeouts = 1, .in_flight = wide() ? 5 : 4, .additions = 1, .joining = true, .disk = at_once, .starts_led = true});
}

// An explorer that finds no planted fault proves nothing by finding no other.
struct Plant {
  Fault fault;
  Bounds bounds;
};

class PlantedFaultExplored : public testing::TestWithParam<Plant> {};

TEST_P(PlantedFaultExplored, is_found) {
  const ScopedFault fault(GetParam().fault);
  const Exploration seen = explore(GetParam().bounds, 1'000'000);
  fmt::print("{}: found after {} states, by {} events: {}\n", name_of(GetParam().fault), seen.states, seen.trace.size(), seen.violation);
  EXPECT_NE(seen.violation, "");
}

const Plant plants[] = {
    {Fault::vote_not_saved, {.epochs = 1, .records = 0, .crashes = 1, .timeouts = 2, .in_flight = 4, .disk = at_once, .elections_only = true}},
    {Fault::vote_granted_twice, {.epochs = 1, .records = 0, .timeouts = 2, .in_flight = 4, .disk = at_once, .troubles_first = true}},
    {Fault::candidacy_not_saved, {.epochs = 1, .records = 0, .crashes = 1, .timeouts = 2, .in_flight = 4, .voters = 2, .disk = at_once, .troubles_first = true}},
    {Fault::answer_before_saved, {.epochs = 1, .records = 0, .crashes = 1, .timeouts = 2, .in_flight = 4, .voters = 2, .disk = before_next_step, .troubles_first = true}},
    {Fault::vote_for_shorter_log, {.epochs = 3, .records = 1, .timeouts = 2, .in_flight = 3, .disk = at_once, .starts_led = true}},
    {Fault::leader_counts_unsynced, {.epochs = 1, .records = 1, .timeouts = 0, .in_flight = 4, .disk = any_time, .starts_led = true}},
    {Fault::fetch_before_sync, {.epochs = 1, .records = 1, .timeouts = 0, .in_flight = 4, .disk = any_time, .starts_led = true}},
    {Fault::synced_of_any_id, {.epochs = 1, .records = 0, .timeouts = 1, .in_flight = 4, .disk = any_time}},
    {Fault::divergence_not_checked, {.epochs = 2, .records = 1, .timeouts = 1, .in_flight = 4, .disk = at_once, .starts_led = true}},
    {Fault::diverging_fetch_counted, {.epochs = 2, .records = 1, .timeouts = 1, .in_flight = 4, .disk = at_once, .starts_led = true}},
    {Fault::high_watermark_goes_back, {.epochs = 2, .records = 1, .timeouts = 1, .in_flight = 4, .disk = at_once, .starts_led = true}},
    {Fault::two_voter_changes, {.epochs = 2, .records = 0, .timeouts = 1, .in_flight = 4, .removals = 2, .disk = at_once, .starts_led = true}},
    {Fault::voter_change_after_commit, {.epochs = 2, .records = 0, .timeouts = 1, .in_flight = 4, .removals = 1, .disk = at_once, .starts_led = true}},
    {Fault::voter_change_survives_truncation, {.epochs = 2, .records = 0, .timeouts = 1, .in_flight = 4, .removals = 1, .disk = at_once, .starts_led = true}},
    {Fault::old_voters_commit, {.epochs = 1, .records = 1, .timeouts = 0, .in_flight = 4, .additions = 1, .joining = true, .disk = at_once, .starts_led = true}},
    {Fault::removed_leader_counts_itself, {.epochs = 1, .records = 1, .timeouts = 0, .in_flight = 4, .removals = 1, .removed = NodeId{1}, .disk = at_once, .starts_led = true}},
};

INSTANTIATE_TEST_SUITE_P(Explorer, PlantedFaultExplored, testing::ValuesIn(plants), [](const auto& info) {
  std::string name(name_of(info.param.fault));
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace castellan::raft

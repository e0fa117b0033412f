// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/readiness.h"

#include <gtest/gtest.h>

namespace castellan::node {
namespace {

using std::chrono::seconds;

ReadinessFacts good() {
  ReadinessFacts facts;
  facts.now = {MonotonicTime{} + seconds(100), WallTime{1'800'000'000'000}};
  facts.view.epoch = Epoch{7};
  facts.view.leader = NodeId{1};
  facts.view.high_watermark = Offset{42};
  facts.view.leader_since = {MonotonicTime{} + seconds(90), WallTime{1'800'000'000'000 - 10'000}};
  facts.view.advanced = MonotonicTime{} + seconds(99);
  facts.silence_allowed = seconds(4);
  return facts;
}

void expect_only(const ReadinessFacts& facts, std::string_view part) {
  const auto missing = what_is_missing(facts);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_NE(missing[0].find(part), std::string::npos) << missing[0];
}

TEST(Readiness, ANodeWithALeaderAndMetadataThatAdvancesIsReady) { EXPECT_TRUE(what_is_missing(good()).empty()); }

TEST(Readiness, WithoutALeaderItSaysSinceWhen) {
  auto facts = good();
  facts.view.leader.reset();
  expect_only(facts, "no leader that this node knows of, since 2027-01-15T07:59:50.000Z (10.0 s); its epoch is 7");
}

TEST(Readiness, MetadataThatStandsStillIsNamedWithItsOffset) {
  auto facts = good();
  facts.view.advanced = MonotonicTime{} + seconds(95);
  expect_only(facts, "has not advanced for 5.0 s: its committed end is still 42");
  facts.silence_allowed = {};
  EXPECT_TRUE(what_is_missing(facts).empty()) << "an idle quorum that writes nothing may be silent";
}

TEST(Readiness, ANewNodeWithoutCommittedMetadataIsNotReady) {
  auto facts = good();
  facts.view.high_watermark = Offset{-1};
  expect_only(facts, "no record of the metadata");
}

TEST(Readiness, TheBrokersOwnWordIsPassedOn) {
  auto facts = good();
  facts.broker_lacks = "the broker is fenced";
  expect_only(facts, "the broker is fenced");
  facts.stopping = true;
  expect_only(facts, "stopping");
}

}  // namespace
}  // namespace castellan::node

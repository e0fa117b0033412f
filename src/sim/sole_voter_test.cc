// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/sole_voter.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace castellan::sim {
namespace {

// SEED=17 repeats one run; SEEDS=1..5000 runs others.
TEST(SoleVoter, keeps_what_it_acknowledged_through_crashes_and_torn_writes) {
  uint64_t first = 1, last = 200;
  if (const char* seed = std::getenv("SEED")) first = last = std::strtoull(seed, nullptr, 10);
  if (const char* seeds = std::getenv("SEEDS")) {
    char* dots = nullptr;
    first = std::strtoull(seeds, &dots, 10);
    last = std::strtoull(dots + 2, nullptr, 10);
  }
  SoleVoterRun total;
  for (uint64_t seed = first; seed <= last; ++seed) {
    const SoleVoterRun run = run_sole_voter(seed);
    ASSERT_EQ(run.violation, "") << "repeat with SEED=" << seed;
    total.crashes += run.crashes;
    total.clean_stops += run.clean_stops;
    total.disk_failures += run.disk_failures;
    total.acknowledged += run.acknowledged;
  }
  if (last - first >= 100) {
    // A run in which nothing happens would pass too.
    EXPECT_GT(total.crashes, 100);
    EXPECT_GT(total.clean_stops, 10);
    EXPECT_GT(total.disk_failures, 10);
    EXPECT_GT(total.acknowledged, 1000u);
  }
}

TEST(SoleVoter, is_the_same_run_for_the_same_seed) {
  const SoleVoterRun a = run_sole_voter(11), b = run_sole_voter(11);
  EXPECT_EQ(a.acknowledged, b.acknowledged);
  EXPECT_EQ(a.crashes, b.crashes);
  EXPECT_EQ(a.violation, b.violation);
}

}  // namespace
}  // namespace castellan::sim

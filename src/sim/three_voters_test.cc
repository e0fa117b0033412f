// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/three_voters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace castellan::sim {
namespace {

TEST(ThreeVoters, keep_what_they_acknowledged_through_the_storm_and_go_on_after_it) {
  uint64_t first = 1, last = 15;
  if (const char* seed = std::getenv("SEED")) first = last = std::strtoull(seed, nullptr, 10);
  if (const char* seeds = std::getenv("SEEDS")) {
    char* dots = nullptr;
    first = std::strtoull(seeds, &dots, 10);
    last = std::strtoull(dots + 2, nullptr, 10);
  }
  ThreeVotersRun total;
  for (uint64_t seed = first; seed <= last; ++seed) {
    const ThreeVotersRun run = run_three_voters(seed);
    ASSERT_EQ(run.violation, "") << "repeat with SEED=" << seed;
    total.crashes += run.crashes;
    total.partitions += run.partitions;
    total.acknowledged += run.acknowledged;
  }
  if (last - first >= 10) {
    EXPECT_GT(total.crashes, 20);
    EXPECT_GT(total.partitions, 5);
    EXPECT_GT(total.acknowledged, 1000u);
  }
}

TEST(ThreeVoters, have_a_new_leader_within_50_ms_of_a_crash) {
  std::vector<double> times;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto some = failover_times_ms(seed, 10);
    ASSERT_EQ(some.size(), 10u) << "seed " << seed;
    times.insert(times.end(), some.begin(), some.end());
  }
  std::ranges::sort(times);
  EXPECT_LT(times[times.size() / 2], 50) << "longest: " << times.back();
  EXPECT_LT(times[times.size() * 9 / 10], 50) << "longest: " << times.back();
}

}  // namespace
}  // namespace castellan::sim

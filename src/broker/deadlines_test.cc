// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/deadlines.h"

#include <gtest/gtest.h>

namespace castellan::broker {
namespace {

TEST(Deadlines, run_in_order_and_only_when_due) {
  Deadlines deadlines;
  std::string ran;
  deadlines.add({30}, [&] { ran += 'c'; });
  deadlines.add({10}, [&] { ran += 'a'; });
  deadlines.add({10}, [&] { ran += 'b'; });
  deadlines.run_due({9});
  EXPECT_EQ(ran, "");
  deadlines.run_due({10});
  EXPECT_EQ(ran, "ab");
  EXPECT_EQ(deadlines.next(), MonotonicTime{30});
}

TEST(Deadlines, a_cancelled_one_does_not_run_even_from_an_action_before_it) {
  Deadlines deadlines;
  int ran = 0;
  const auto second = Deadlines::Id{{10}, 2};
  deadlines.add({10}, [&] { deadlines.cancel(second); });
  ASSERT_EQ(deadlines.add({10}, [&] { ++ran; }), second);
  deadlines.run_due({20});
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(deadlines.size(), 0u);
}

TEST(Deadlines, the_loop_is_told_only_of_earlier_times) {
  Deadlines deadlines;
  std::vector<int64_t> told;
  deadlines.on_earlier = [&](MonotonicTime due) { told.push_back(due.nanoseconds); };
  deadlines.add({50}, [] {});
  deadlines.add({60}, [] {});
  deadlines.add({40}, [] {});
  deadlines.run_due({45});
  EXPECT_EQ(told, (std::vector<int64_t>{50, 40, 50}));
}

}  // namespace
}  // namespace castellan::broker

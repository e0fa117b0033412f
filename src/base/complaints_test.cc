// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "base/complaints.h"

#include <gtest/gtest.h>

namespace castellan {
namespace {

TEST(Complaints, admits_so_many_in_a_second_and_then_counts) {
  Complaints complaints(2);
  const MonotonicTime start{1'000'000'000'000};
  EXPECT_EQ(complaints.admit(start, "a"), "a");
  EXPECT_EQ(complaints.admit(start, "b"), "b");
  EXPECT_EQ(complaints.admit(start, "c"), "");
  EXPECT_EQ(complaints.admit(start, "d"), "");
  EXPECT_EQ(complaints.admit(start + std::chrono::seconds(1), "e"), "e (2 more like this were not logged)");
}

}  // namespace
}  // namespace castellan

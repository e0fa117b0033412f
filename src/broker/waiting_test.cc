// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/waiting.h"

#include <gtest/gtest.h>

namespace castellan::broker {
namespace {

struct Probe : Waiting {
  bool try_complete() override {
    ++looks;
    return complete;
  }
  void expire() override { ++expired; }
  bool complete = false;
  int looks = 0;
  int expired = 0;
};

TEST(Waiting, is_looked_at_when_one_of_its_partitions_moves_until_it_is_done) {
  Deadlines deadlines;
  WaitingList a, b;
  auto probe = std::make_shared<Probe>();
  probe->watch(a), probe->watch(b);
  probe->start(deadlines, {100});
  a.look();
  EXPECT_EQ(probe->looks, 1);
  probe->complete = true;
  b.look();
  EXPECT_TRUE(probe->done());
  a.look(), b.look();
  EXPECT_EQ(probe->looks, 2);
  EXPECT_TRUE(a.empty() && b.empty());
  EXPECT_EQ(deadlines.size(), 0u);
}

TEST(Waiting, expires_once_and_leaves_its_lists) {
  Deadlines deadlines;
  WaitingList list;
  auto probe = std::make_shared<Probe>();
  probe->watch(list);
  probe->start(deadlines, {100});
  deadlines.run_due({100});
  EXPECT_EQ(probe->expired, 1);
  EXPECT_TRUE(list.empty());
  probe->complete = true;
  probe->look();
  EXPECT_EQ(probe->looks, 0);
}

TEST(Waiting, goes_on_where_it_still_waits_when_a_partition_goes) {
  Deadlines deadlines;
  WaitingList stays;
  auto probe = std::make_shared<Probe>();
  {
    WaitingList goes;
    probe->watch(goes), probe->watch(stays);
    probe->start(deadlines, {100});
  }
  probe->complete = true;
  stays.look();
  EXPECT_TRUE(probe->done());
  EXPECT_TRUE(stays.empty());
}

TEST(Waiting, one_that_completes_may_make_others_look_at_the_same_list) {
  WaitingList list;
  struct Chain : Waiting {
    explicit Chain(WaitingList& list) : list(list) {}
    bool try_complete() override {
      list.look();
      return true;
    }
    void expire() override {}
    WaitingList& list;
  };
  std::vector<std::shared_ptr<Chain>> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(std::make_shared<Chain>(list))->watch(list);
  list.look();
  for (const auto& each : all) EXPECT_TRUE(each->done());
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace castellan::broker

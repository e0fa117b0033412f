// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/placement.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace castellan::controller {
namespace {

std::vector<UsableBroker> brokers(int32_t count, int racks = 0) {
  std::vector<UsableBroker> all;
  for (int32_t id = 1; id <= count; ++id) {
    all.push_back({.id = NodeId(id)});
    if (racks > 0) all.back().rack = fmt::format("rack-{}", id % racks);
  }
  return all;
}

TEST(Placement, EveryBrokerLeadsAndFollowsAsOftenAsTheOthers) {
  for (const int racks : {0, 3}) {
    Prng random(3);
    const auto placed = place_replicas(brokers(6, racks), 60, 3, random);
    ASSERT_TRUE(placed);
    std::map<NodeId, int> leads, holds;
    for (const auto& replicas : *placed) {
      ++leads[replicas.front()];
      for (NodeId id : replicas) ++holds[id];
      EXPECT_EQ(std::set(replicas.begin(), replicas.end()).size(), 3u) << "a broker twice";
    }
    for (const auto& [id, count] : leads) EXPECT_EQ(count, 10) << "broker " << id.value << " with " << racks << " racks";
    for (const auto& [id, count] : holds) EXPECT_NEAR(count, 30, 12);
  }
}

TEST(Placement, ReplicasOfOnePartitionAreInDifferentRacks) {
  Prng random(9);
  const auto placed = place_replicas(brokers(9, 3), 100, 3, random);
  for (const auto& replicas : *placed) {
    std::set<int> racks;
    for (NodeId id : replicas) racks.insert(id.value % 3);
    EXPECT_EQ(racks.size(), 3u);
  }
}

TEST(Placement, FencedBrokersComeLastAndNeverLead) {
  auto all = brokers(4);
  all[1].fenced = all[3].fenced = true;
  Prng random(1);
  const auto placed = place_replicas(all, 20, 3, random);
  for (const auto& replicas : *placed) {
    EXPECT_TRUE(replicas[0].value == 1 || replicas[0].value == 3);
    EXPECT_TRUE(replicas[1].value == 1 || replicas[1].value == 3);
    EXPECT_TRUE(replicas[2].value == 2 || replicas[2].value == 4);
  }
}

TEST(Placement, TheSameSeedPlacesTheSame) {
  Prng one(5), two(5);
  EXPECT_EQ(*place_replicas(brokers(5), 30, 2, one), *place_replicas(brokers(5), 30, 2, two));
}

TEST(Placement, RefusalsSayWhatIsMissing) {
  Prng random(1);
  EXPECT_EQ(place_replicas(brokers(2), 1, 0, random).error().message, "Invalid replication factor 0: the replication factor must be positive.");
  EXPECT_EQ(place_replicas(brokers(2), 1, 3, random).error().message,
            "The target replication factor of 3 cannot be reached because only 2 broker(s) are registered or some brokers have all their log "
            "directories cordoned.");
  auto fenced = brokers(1);
  fenced[0].fenced = true;
  EXPECT_EQ(place_replicas(fenced, 1, 1, random).error().code, ErrorCode::INVALID_REPLICATION_FACTOR);
  EXPECT_EQ(place_replicas({}, 1, 1, random).error().message, "All brokers are currently fenced, or have all their log directories cordoned.");
}

}  // namespace
}  // namespace castellan::controller

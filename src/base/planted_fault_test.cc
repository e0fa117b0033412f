// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "base/planted_fault.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace castellan {
namespace {

TEST(PlantedFault, nothing_is_planted_unless_somebody_does) {
  for (const PlantedFault& fault : planted_faults()) EXPECT_FALSE(planted(fault.fault)) << fault.name;
}

TEST(PlantedFault, is_planted_while_its_scope_lasts) {
  {
    const ScopedFault fault(Fault::vote_not_saved);
    EXPECT_TRUE(planted(Fault::vote_not_saved));
    EXPECT_FALSE(planted(Fault::vote_granted_twice));
  }
  EXPECT_FALSE(planted(Fault::vote_not_saved));
}

TEST(PlantedFault, has_a_name_of_its_own_and_a_sentence) {
  std::set<std::string_view> names;
  for (const PlantedFault& fault : planted_faults()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_TRUE(fault.sentence.ends_with('.')) << fault.name;
    EXPECT_EQ(fault.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string_view::npos) << fault.name;
    EXPECT_EQ(find_planted_fault(fault.name), fault.fault);
    EXPECT_EQ(name_of(fault.fault), fault.name);
  }
  EXPECT_GE(names.size(), 40u);
  EXPECT_EQ(find_planted_fault("none"), std::nullopt);
}

// The tickets of Apache Kafka that concern the protocol.
TEST(PlantedFault, the_tickets_of_the_protocol_are_among_them) {
  std::string all;
  for (const PlantedFault& fault : planted_faults()) all += fault.sentence;
  for (const char* ticket : {"KAFKA-18723", "KAFKA-17147", "KAFKA-14825", "KAFKA-18379", "KAFKA-18439", "KAFKA-17375", "KAFKA-9617", "KAFKA-13391"}) {
    EXPECT_NE(all.find(ticket), std::string::npos) << ticket;
  }
}

}  // namespace
}  // namespace castellan

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/partitioner.h"

#include <gtest/gtest.h>

namespace castellan::group {
namespace {

TEST(Partitioner, HashIsJavas) {
  EXPECT_EQ(java_string_hash(""), 0);
  EXPECT_EQ(java_string_hash("a"), 97);
  EXPECT_EQ(java_string_hash("console-consumer-1"), java_string_hash("console-consumer-0") + 1);
  EXPECT_EQ(java_string_hash("polygenelubricants"), INT32_MIN);
  EXPECT_EQ(java_string_hash("group-é0"), java_string_hash("group-\u00e90"));
}

TEST(Partitioner, CharactersBeyondTheFirstPlaneCountAsTwoUnits) {
  EXPECT_EQ(java_string_length("a\U0001F600b"), 4u);
  EXPECT_EQ(java_string_hash("\U0001F600"), 0xd83d * 31 + 0xde00);
}

TEST(Partitioner, MalformedBytesCountAsReplacementCharacters) {
  EXPECT_EQ(java_string_hash("\xff"), 0xfffd);
  EXPECT_EQ(java_string_length("\xe2\x82"), 2u);
}

TEST(Partitioner, AHashWithoutPositiveCounterpartStillHasAPartition) {
  EXPECT_EQ(partition_of("polygenelubricants", 50), 0);
  EXPECT_EQ(partition_of("a", 50), 47);
}

}  // namespace
}  // namespace castellan::group

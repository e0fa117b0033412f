// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/greeting.h"

#include <gtest/gtest.h>

namespace castellan::net {
namespace {

std::string describe(std::string_view bytes) {
  return describe_bad_length(as_bytes(bytes), load_big_endian<int32_t>(as_bytes(bytes).data()), 104857600);
}

TEST(Greeting, names_what_other_protocols_say) {
  EXPECT_NE(describe(std::string_view("\x16\x03\x01\x00", 4)).find("TLS hello"), std::string::npos);
  EXPECT_NE(describe("GET / HTTP/1.1").find("HTTP"), std::string::npos);
  EXPECT_NE(describe("SSH-2.0-x").find("SSH"), std::string::npos);
}

TEST(Greeting, tells_a_negative_length_from_one_that_is_too_large) {
  EXPECT_NE(describe("\xff\xff\xff\xff").find("negative length -1"), std::string::npos);
  EXPECT_NE(describe("\x7f\xff\xff\xff").find("socket.request.max.bytes is 104857600"), std::string::npos);
}

}  // namespace
}  // namespace castellan::net

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "security/scram.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

namespace castellan::security {
namespace {

// RFC 7677, section 3: user "user", password "pencil", 4096 iterations; the keys as its authors' test vectors imply them.
TEST(Scram, KeysProveTheExchangeOfTheRfc) {
  const std::string_view password = "pencil";
  Bytes salt(24), salted(32);
  const std::string_view salt_base64 = "W22ZaJ0SNY7soEsUEjb6gQ==";
  const int size = EVP_DecodeBlock(salt.data(), reinterpret_cast<const unsigned char*>(salt_base64.data()), static_cast<int>(salt_base64.size()));
  ASSERT_EQ(size, 18);
  salt.resize(16);  // two bytes are padding
  ASSERT_EQ(PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), salt.data(), 16, 4096, EVP_sha256(), 32, salted.data()), 1);
  const ScramKeys keys = scram_keys(ScramMechanism::SCRAM_SHA_256, salted);
  EXPECT_EQ(to_base64(keys.stored_key), "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=");
  EXPECT_EQ(to_base64(keys.server_key), "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=");
}

TEST(Scram, TheLongerHashHasLongerKeys) {
  const ScramKeys keys = scram_keys(ScramMechanism::SCRAM_SHA_512, Bytes(64, 7));
  EXPECT_EQ(keys.stored_key.size(), 64u);
  EXPECT_EQ(keys.server_key.size(), 64u);
}

}  // namespace
}  // namespace castellan::security

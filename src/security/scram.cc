// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "security/scram.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace castellan::security {

namespace {

const EVP_MD* digest_of(ScramMechanism mechanism) {
  CHECK(mechanism != ScramMechanism::UNKNOWN);
  return mechanism == ScramMechanism::SCRAM_SHA_256 ? EVP_sha256() : EVP_sha512();
}

Bytes hmac(const EVP_MD* digest, BytesView key, std::string_view text) {
  Bytes out(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  CHECK(HMAC(digest, key.data(), static_cast<int>(key.size()), data, text.size(), out.data(), &size) != nullptr);
  out.resize(size);
  return out;
}

Bytes hash(const EVP_MD* digest, BytesView bytes) {
  Bytes out(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, digest, nullptr) == 1);
  out.resize(size);
  return out;
}

}  // namespace

ScramKeys scram_keys(ScramMechanism mechanism, BytesView salted_password) {
  const EVP_MD* digest = digest_of(mechanism);
  return {.stored_key = hash(digest, hmac(digest, salted_password, "Client Key")), .server_key = hmac(digest, salted_password, "Server Key")};
}

}  // namespace castellan::security

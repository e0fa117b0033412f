// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// SCRAM keys (RFC 5802, RFC 7677). A client that sets a password sends the salted password; the server keeps what proves it,
// not the password: StoredKey = H(HMAC(salted, "Client Key")), ServerKey = HMAC(salted, "Server Key").
// Pure.

#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace castellan::security {

// The numbers are on disk and on the wire (KIP-554).
enum class ScramMechanism : int8_t { UNKNOWN = 0, SCRAM_SHA_256 = 1, SCRAM_SHA_512 = 2 };

inline constexpr int32_t scram_iterations_min = 4096;
inline constexpr int32_t scram_iterations_max = 16384;

struct ScramKeys {
  Bytes stored_key;
  Bytes server_key;
};

ScramKeys scram_keys(ScramMechanism mechanism, BytesView salted_password);

}  // namespace castellan::security

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// --add-scram: credentials that are in a new cluster's metadata from its first record on (KIP-900).
//
//   SCRAM-SHA-256=[name=alice,password=wonder,iterations=8192]
//   SCRAM-SHA-512=[name=alice,saltedpassword="YCE=",salt="N3E="]
//
// Keys are derived as RFC 5802 says. As in Kafka, a comma inside a quoted value is not protected.

#pragma once

#include <string_view>

#include "base/result.h"
#include "io/clock.h"

namespace castellan::wire {
struct UserScramCredentialRecord;
}

namespace castellan::cli {

// INVALID_CONFIG names the part that is wrong. The salt is random where none is given.
Result<wire::UserScramCredentialRecord> parse_scram_argument(std::string_view text, io::Entropy& entropy);

}  // namespace castellan::cli

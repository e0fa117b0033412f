// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/environment.h"

namespace castellan::cli {

Uuid random_uuid(io::Entropy& entropy) {
  while (true) {
    Uuid id{entropy.next(), entropy.next()};
    id.high = (id.high & ~0xf000ull) | 0x4000;                       // version 4
    id.low = (id.low & 0x3fffffffffffffffull) | 0x8000000000000000;  // the variant of RFC 4122
    if (id.text().find('-') == std::string::npos) return id;
  }
}

}  // namespace castellan::cli

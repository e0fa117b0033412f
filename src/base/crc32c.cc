// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "base/crc32c.h"

#include <nmmintrin.h>

namespace castellan {

uint32_t crc32c(BytesView bytes, uint32_t previous) {
  uint64_t crc = ~previous;
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  uint32_t tail = static_cast<uint32_t>(crc);
  for (; left; ++at, --left) tail = _mm_crc32_u8(tail, *at);
  return ~tail;
}

}  // namespace castellan

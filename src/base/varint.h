// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Variable-length integers as Kafka writes them: unsigned for compact lengths and tags, zig-zag for record fields.
// Decoders take a bounded view and answer how many bytes they used, 0 when the bytes do not hold a number.

#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace castellan {

inline size_t varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

inline uint64_t zigzag(int64_t value) { return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63); }
inline int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }
inline uint32_t zigzag32(int32_t value) { return static_cast<uint32_t>(value) << 1 ^ static_cast<uint32_t>(value >> 31); }

// Writes `value` at `to`, which has room for 10 bytes; answers the number of bytes written.
inline size_t put_varint(uint8_t* to, uint64_t value) {
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) to[size++] = static_cast<uint8_t>(value | 0x80);
  to[size++] = static_cast<uint8_t>(value);
  return size;
}

// At most 5 bytes (32 bits) or 10 bytes (64 bits), as Kafka's ByteUtils accepts them: a longer form is no number,
// bits beyond the width are dropped.
inline size_t get_varint32(BytesView from, uint32_t& value) {
  uint64_t result = 0;
  for (size_t i = 0; i < 5 && i < from.size(); ++i) {
    result |= static_cast<uint64_t>(from[i] & 0x7f) << (7 * i);
    if (!(from[i] & 0x80)) {
      value = static_cast<uint32_t>(result);
      return i + 1;
    }
  }
  return 0;
}

inline size_t get_varint64(BytesView from, uint64_t& value) {
  uint64_t result = 0;
  for (size_t i = 0; i < 10 && i < from.size(); ++i) {
    result |= static_cast<uint64_t>(from[i] & 0x7f) << (7 * i);
    if (!(from[i] & 0x80)) {
      value = result;
      return i + 1;
    }
  }
  return 0;
}

}  // namespace castellan

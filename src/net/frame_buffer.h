// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// How the buffer of a connection grows while a frame comes in: it doubles, and never goes beyond the frame's end. So a length
// that lies costs no more than what has come, and what is read of the following frame is small.
//
// Internal to net/.

#pragma once

#include <algorithm>

#include "base/bytes.h"
#include "net/buffer.h"

namespace castellan::net {

constexpr size_t frame_length_bytes = 4;
constexpr size_t first_read_bytes = 4096;
constexpr size_t frame_growth_bytes = 64 << 10;

// Room for the next read. The frame's length, if it is there, has been found good.
inline void make_room_for_frame(Buffer& buffer) {
  if (buffer.size() < frame_length_bytes) return buffer.reserve(first_read_bytes);
  const size_t whole = frame_length_bytes + load_big_endian<uint32_t>(buffer.data());
  buffer.reserve(std::min(whole, std::max(frame_growth_bytes, 2 * buffer.size())));
}

}  // namespace castellan::net

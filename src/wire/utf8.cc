// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/utf8.h"

#include <cstring>

namespace castellan::wire {
namespace {

struct Step {
  size_t size;   // bytes of the character, or of the malformed part
  bool good;
};

// The Unicode Standard, table 3-7: which second bytes are allowed depends on the first.
Step step(BytesView bytes) {
  const uint8_t first = bytes[0];
  if (first < 0x80) return {1, true};
  size_t size;
  uint8_t low = 0x80, high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    size = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    size = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    size = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return {1, false};
  }
  for (size_t i = 1; i < size; ++i) {
    if (i >= bytes.size() || bytes[i] < low || bytes[i] > high) return {i, false};
    low = 0x80;
    high = 0xbf;
  }
  return {size, true};
}

}  // namespace

bool is_utf8(BytesView bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    uint64_t word;
    if (bytes.size() - at >= 8 && (std::memcpy(&word, bytes.data() + at, 8), (word & 0x8080808080808080ull) == 0)) {
      at += 8;
      continue;
    }
    const Step next = step(bytes.subspan(at));
    if (!next.good) return false;
    at += next.size;
  }
  return true;
}

std::string replace_bad_utf8(BytesView bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    const Step next = step(bytes.subspan(at));
    if (next.good) {
      text.append(as_text(bytes.subspan(at, next.size)));
    } else {
      text += "\xef\xbf\xbd";
    }
    at += next.size;
  }
  return text;
}

}  // namespace castellan::wire

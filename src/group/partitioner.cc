// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/partitioner.h"

#include "base/check.h"

namespace castellan::group {

namespace {

constexpr uint32_t replacement = 0xfffd;

// Takes one code point off the front; a malformed byte is a replacement character of its own.
uint32_t take_code_point(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  const size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  if (length == 0 || length > text.size()) {
    text.remove_prefix(1);
    return replacement;
  }
  uint32_t point = length == 1 ? first : first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      text.remove_prefix(1);
      return replacement;
    }
    point = point << 6 | (byte(i) & 0x3f);
  }
  text.remove_prefix(length);
  return point;
}

template <class Visit>
void for_each_code_unit(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const uint32_t point = take_code_point(text);
    if (point >= 0x10000) {
      visit(0xd800 + ((point - 0x10000) >> 10));
      visit(0xdc00 + ((point - 0x10000) & 0x3ff));
    } else {
      visit(point);
    }
  }
}

}  // namespace

int32_t java_string_hash(std::string_view text) {
  uint32_t hash = 0;
  for_each_code_unit(text, [&](uint32_t unit) { hash = hash * 31 + unit; });
  return static_cast<int32_t>(hash);
}

int32_t partition_of(std::string_view id, int32_t partition_count) {
  CHECK(partition_count > 0, "{} partitions", partition_count);
  return (java_string_hash(id) & 0x7fffffff) % partition_count;
}

size_t java_string_length(std::string_view text) {
  size_t length = 0;
  for_each_code_unit(text, [&](uint32_t) { ++length; });
  return length;
}

}  // namespace castellan::group

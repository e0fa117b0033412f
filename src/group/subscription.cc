// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/subscription.h"

namespace castellan::group {

bool read_subscription(BytesView metadata, std::set<std::string>& topics) {
  size_t at = 0;
  const auto has = [&](size_t size) { return metadata.size() - at >= size; };
  if (!has(2) || load_big_endian<int16_t>(metadata.data()) < 0) return false;
  at = 2;
  if (!has(4)) return false;
  const auto count = load_big_endian<int32_t>(metadata.data() + at);
  at += 4;
  if (count < 0) return false;
  for (int32_t i = 0; i < count; ++i) {
    if (!has(2)) return false;
    const auto length = load_big_endian<int16_t>(metadata.data() + at);
    at += 2;
    if (length < 0 || !has(static_cast<size_t>(length))) return false;
    topics.emplace(as_text(metadata.subspan(at, static_cast<size_t>(length))));
    at += static_cast<size_t>(length);
  }
  // Version 0 ends with user data; later versions have it too, in the same place.
  if (!has(4)) return false;
  const auto length = load_big_endian<int32_t>(metadata.data() + at);
  return length < 0 || has(4 + static_cast<size_t>(length));
}

}  // namespace castellan::group

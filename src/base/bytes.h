// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Bytes that own their memory, views that do not, and big-endian loads and stores (everything of Kafka's is big-endian).

#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace castellan {

using Bytes = std::vector<uint8_t>;
using BytesView = std::span<const uint8_t>;

inline BytesView as_bytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
inline std::string_view as_text(BytesView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
inline Bytes to_bytes(BytesView view) { return Bytes(view.begin(), view.end()); }
inline Bytes to_bytes(std::string_view text) { return to_bytes(as_bytes(text)); }

// Reads or writes a big-endian integer at an address that need not be aligned. The caller has checked the bounds.
template <class T>
T load_big_endian(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<uint16_t>(value)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(value)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(value)));
  return value;
}

template <class T>
void store_big_endian(uint8_t* to, T value) {
  if constexpr (sizeof(T) == 2) value = static_cast<T>(__builtin_bswap16(static_cast<uint16_t>(value)));
  if constexpr (sizeof(T) == 4) value = static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(value)));
  if constexpr (sizeof(T) == 8) value = static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(value)));
  std::memcpy(to, &value, sizeof(T));
}

// "0a ff 10": for messages and tests.
std::string to_hex(BytesView bytes, size_t limit = 64);

// Standard base64 (with padding, '+' and '/'), as Kafka prints bytes in JSON.
std::string to_base64(BytesView bytes);

}  // namespace castellan

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "base/uuid.h"

#include "base/bytes.h"

namespace castellan {
namespace {

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-' || c == '+') return 62;
  if (c == '_' || c == '/') return 63;
  return -1;
}

}  // namespace

Uuid Uuid::from_bytes(const uint8_t* bytes) {
  return {load_big_endian<uint64_t>(bytes), load_big_endian<uint64_t>(bytes + 8)};
}

std::array<uint8_t, 16> Uuid::bytes() const {
  std::array<uint8_t, 16> out;
  store_big_endian(out.data(), high);
  store_big_endian(out.data() + 8, low);
  return out;
}

std::string Uuid::text() const {
  const auto raw = bytes();
  std::string out;
  out.reserve(22);
  uint32_t bits = 0;
  int count = 0;
  for (uint8_t byte : raw) {
    bits = bits << 8 | byte;
    count += 8;
    while (count >= 6) {
      count -= 6;
      out += alphabet[bits >> count & 63];
    }
  }
  out += alphabet[bits << (6 - count) & 63];  // 128 = 21 * 6 + 2
  return out;
}

Result<Uuid> Uuid::parse(std::string_view text) {
  std::string_view digits = text;
  if (digits.size() == 24 && digits.ends_with("==")) digits.remove_suffix(2);
  if (digits.size() != 22)
    return fail(ErrorCode::INVALID_REQUEST, "'{}' is not an id: 22 characters of base64url are expected", text);
  std::array<uint8_t, 16> raw{};
  uint32_t bits = 0;
  int count = 0;
  size_t at = 0;
  for (char c : digits) {
    const int value = digit(c);
    if (value < 0) return fail(ErrorCode::INVALID_REQUEST, "'{}' is not an id: '{}' is not a character of base64url", text, c);
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8 && at < raw.size()) {
      count -= 8;
      raw[at++] = static_cast<uint8_t>(bits >> count);
    }
  }
  return from_bytes(raw.data());
}

}  // namespace castellan

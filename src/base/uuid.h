// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A 128-bit id as Kafka writes it: 16 bytes big-endian on the wire, 22 characters of unpadded base64url in text.
// Topic ids, directory ids and incarnation ids are Uuids; base/ids.h makes them distinct types.

#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace castellan {

struct Uuid {
  uint64_t high = 0;
  uint64_t low = 0;

  // All zero: "no id".
  static constexpr Uuid zero() { return {}; }
  // From 16 bytes.
  static Uuid from_bytes(const uint8_t* bytes);
  // Parses 22 (unpadded) or 24 (padded) characters of base64url, as Kafka's Uuid.fromString does.
  static Result<Uuid> parse(std::string_view text);

  bool is_zero() const { return high == 0 && low == 0; }
  // The low ids 0 to 99 are reserved (0 zero, 1 the metadata topic / unassigned directory, 2 lost directory...).
  bool is_reserved() const { return high == 0 && low < 100; }
  std::string text() const;
  std::array<uint8_t, 16> bytes() const;

  friend auto operator<=>(const Uuid&, const Uuid&) = default;
  template <class H>
  friend H AbslHashValue(H state, const Uuid& id) {
    return H::combine(std::move(state), id.high, id.low);
  }
};

}  // namespace castellan

template <>
struct std::hash<castellan::Uuid> {
  size_t operator()(const castellan::Uuid& id) const noexcept { return id.high * 0x9e3779b97f4a7c15ull ^ id.low; }
};

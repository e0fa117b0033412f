// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The two kinds of time. Timers run on MonotonicTime, which no operator and no clock daemon moves; timestamps in
// records and expiry dates are WallTime. Pure libraries get both as arguments and never ask a clock.

#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace castellan {

using Duration = std::chrono::nanoseconds;

// Nanoseconds since an arbitrary start of this process's machine.
struct MonotonicTime {
  int64_t nanoseconds = 0;

  static constexpr MonotonicTime never() { return {INT64_MAX}; }
  friend auto operator<=>(const MonotonicTime&, const MonotonicTime&) = default;
  constexpr MonotonicTime operator+(Duration d) const {
    return {d.count() > INT64_MAX - nanoseconds ? INT64_MAX : nanoseconds + d.count()};
  }
  constexpr Duration operator-(MonotonicTime other) const { return Duration(nanoseconds - other.nanoseconds); }
};

// Milliseconds since 1970-01-01 UTC, as Kafka's timestamps are.
struct WallTime {
  int64_t milliseconds = 0;

  friend auto operator<=>(const WallTime&, const WallTime&) = default;
  constexpr WallTime operator+(std::chrono::milliseconds d) const { return {milliseconds + d.count()}; }
};

struct Now {
  MonotonicTime monotonic;
  WallTime wall;
};

}  // namespace castellan

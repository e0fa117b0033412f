// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The clocks of one simulated machine: a monotonic one that runs a little fast or slow, and a wall clock that may be set.

#pragma once

#include "io/clock.h"

namespace castellan::sim {

class SkewedClock final : public io::Clock {
 public:
  // `source` is the world's time; `parts_per_million` says how much faster this machine's oscillator runs.
  SkewedClock(const MonotonicTime& source, int64_t parts_per_million) : source_(source), rate_ppm_(parts_per_million) {}

  MonotonicTime monotonic() const override { return local(source_); }
  WallTime wall() const override { return {1'700'000'000'000 + wall_offset_ms_ + source_.nanoseconds / 1'000'000}; }

  void set_wall_offset(int64_t milliseconds) { wall_offset_ms_ = milliseconds; }
  // When, in the world's time, this machine's monotonic clock shows `time` or more.
  MonotonicTime world_time(MonotonicTime time) const {
    if (time == MonotonicTime::never() || rate_ppm_ == 0) return time;
    MonotonicTime world{static_cast<int64_t>(static_cast<__int128>(time.nanoseconds) * 1'000'000 / (1'000'000 + rate_ppm_))};
    while (local(world) < time) ++world.nanoseconds;
    return world;
  }

 private:
  MonotonicTime local(MonotonicTime world) const {
    return {world.nanoseconds + static_cast<int64_t>(static_cast<__int128>(world.nanoseconds) * rate_ppm_ / 1'000'000)};
  }

  const MonotonicTime& source_;
  int64_t rate_ppm_;
  int64_t wall_offset_ms_ = 0;
};

}  // namespace castellan::sim

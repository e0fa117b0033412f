// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The kinds of trouble that a world may have, and how much of each a seed gets. A run that failed is made smaller by taking kinds away:
// what is left of it must stay as it was, so each kind draws from its own randomness (storm.h).

#pragma once

#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <string_view>

#include "base/prng.h"

namespace castellan::sim {

enum class Trouble : uint8_t {
  loss,        // messages
  slowness,    // messages that take long, and overtake each other
  doubling,    // requests that arrive twice
  reset,       // connections that end though both sides live
  partition,   // some hosts cut off from the others
  one_way,     // the same in one direction
  kill,        // kill -9
  power,       // what was not synced is lost or torn
  stop,        // SIGTERM
  pause,       // SIGSTOP, for a while
  ambush,      // any of these just after something happened to a node: an election, a vote, a write
  clock_rate,  // monotonic clocks that run fast and slow
  clock_jump,  // wall clocks that are set
  slow_disk,
  disk_error,
  full_disk,
  voters,      // members added and removed
  replace,     // a voter's disk replaced by an empty one
  wipe,        // a voter's log folder emptied under the same directory id
  snapshots,   // small enough that logs are cleaned all the time
  upgrade,     // of kraft.version 0 to 1
};
inline constexpr size_t trouble_count = 21;
using Troubles = std::bitset<trouble_count>;

std::string_view name_of(Trouble trouble);
std::optional<Trouble> find_trouble(std::string_view name);

enum class Profile : uint8_t { brief, extended };

// What a seed decides before anything happens.
struct Plan {
  int voters = 3;
  int spares = 0;     // controllers that are not voters when it begins
  int observers = 0;  // brokers
  int clients = 2;
  bool static_voters = false;
  std::array<double, trouble_count> weight{};  // of each kind; 0: never
  int steps = 10;                              // of the storm
  int64_t step_ms = 300;                       // between two, on average
  int requests = 60;                           // of all clients during the storm
  std::string properties;
  int64_t fetch_timeout_ms = 2000;
  bool short_sessions = false;                 // of brokers

  bool has(Trouble trouble) const { return weight[static_cast<size_t>(trouble)] > 0; }
};

Plan make_plan(uint64_t seed, Profile profile, Troubles without);

}  // namespace castellan::sim

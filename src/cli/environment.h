// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a tool may touch: files, chance, the clock, its two output streams. main.cc hands out the real ones, tests others.

#pragma once

#include <iosfwd>

#include "base/ids.h"
#include "io/clock.h"
#include "io/file.h"

namespace castellan::cli {

struct Environment {
  io::FileSystem& files;
  io::Clock& clock;
  io::Entropy& entropy;
  std::ostream& out;
  std::ostream& err;
};

// A random id as Kafka makes them: version 4, never reserved, and its text has no '-' (so that no shell tool takes it for a flag).
Uuid random_uuid(io::Entropy& entropy);

}  // namespace castellan::cli

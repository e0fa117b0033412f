// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Where time comes from. Only shells hold a Clock; pure libraries are told the time.

#pragma once

#include "base/time.h"

namespace castellan::io {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime monotonic() const = 0;
  virtual WallTime wall() const = 0;
  Now now() const { return {monotonic(), wall()}; }
};

// Where unpredictable numbers come from: incarnation ids, directory ids, seeds of the pure libraries' Prng.
class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual uint64_t next() = 0;
};

}  // namespace castellan::io

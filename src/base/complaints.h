// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Log lines that a stranger can cause, at a bounded rate: so many in a second, then a count of those left out.
// One thread.

#pragma once

#include <string>

#include "base/time.h"

namespace castellan {

class Complaints {
 public:
  explicit Complaints(int per_second = 20) : per_second_(per_second) {}

  // Answers the line to log now, empty when it is one too many.
  std::string admit(MonotonicTime now, std::string line);

 private:
  int per_second_;
  MonotonicTime second_start_;
  int in_second_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace castellan

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "base/complaints.h"

#include <fmt/format.h>

namespace castellan {

std::string Complaints::admit(MonotonicTime now, std::string line) {
  if (now - second_start_ >= std::chrono::seconds(1)) {
    second_start_ = now;
    in_second_ = 0;
  }
  if (in_second_ >= per_second_) {
    ++left_out_;
    return {};
  }
  ++in_second_;
  if (left_out_ > 0) line += fmt::format(" ({} more like this were not logged)", std::exchange(left_out_, 0));
  return line;
}

}  // namespace castellan

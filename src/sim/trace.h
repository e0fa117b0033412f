// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What happened, a line each, for whoever asked for it. Off, it costs a branch.

#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>

#include "base/time.h"

namespace castellan::sim {

class Trace {
 public:
  Trace(const MonotonicTime& now, std::function<void(const std::string& line)> sink) : now_(now), sink_(std::move(sink)) {}

  explicit operator bool() const { return static_cast<bool>(sink_); }
  template <class... Args>
  void operator()(fmt::format_string<Args...> format, Args&&... args) const {
    if (sink_) sink_(fmt::format("{:>12.6f} ", static_cast<double>(now_.nanoseconds) / 1e9) + fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const MonotonicTime& now_;
  std::function<void(const std::string& line)> sink_;
};

}  // namespace castellan::sim

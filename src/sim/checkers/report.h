// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The first violation of a run: which checker, and what it saw. Checkers are called from the midst of the simulated nodes, so they
// write it down; the world looks after each event.

#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

namespace castellan::sim {

struct Violation {
  std::string checker;
  std::string what;
};

class Report {
 public:
  template <class... Args>
  void violate(std::string_view checker, fmt::format_string<Args...> format, Args&&... args) {
    if (!violation_) violation_ = Violation{std::string(checker), fmt::format(format, std::forward<Args>(args)...)};
  }
  bool clean() const { return !violation_; }
  const std::optional<Violation>& violation() const { return violation_; }

 private:
  std::optional<Violation> violation_;
};

}  // namespace castellan::sim

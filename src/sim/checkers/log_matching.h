// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Two logs that have a batch of the same epoch at the same offset are the same up to there (Raft, "log matching"). By induction it is
// enough that such batches are equal, and come after equal ones. Looked at once a batch is durable: nobody has seen what a lone voter
// wrote and lost.

#pragma once

#include <map>

#include "sim/checkers/report.h"
#include "sim/checkers/seen.h"

namespace castellan::sim {

class LogMatching {
 public:
  static constexpr std::string_view name = "log matching";
  explicit LogMatching(Report& report) : report_(report) {}

  // `entries` of `log` have become durable on `node`.
  void durable(int node, const LogMirror& log, std::span<const LogEntry> entries);

 private:
  struct Known {
    uint32_t crc = 0;
    int64_t end = 0;
    int32_t epoch_before = -1;  // -1: not known
    int node = 0;
  };
  Report& report_;
  std::map<std::pair<int32_t, int64_t>, Known> known_;
};

}  // namespace castellan::sim

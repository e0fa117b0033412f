// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One leader in an epoch (Raft, "election safety"): whoever leads does so alone, and everybody who names a leader names the same.

#pragma once

#include <map>

#include "sim/checkers/report.h"
#include "sim/checkers/seen.h"

namespace castellan::sim {

class OneLeader {
 public:
  static constexpr std::string_view name = "one leader per epoch";
  explicit OneLeader(Report& report) : report_(report) {}

  void look(const Seen& seen);
  size_t epochs() const { return leaders_.size(); }

 private:
  Report& report_;
  std::map<Epoch, NodeId> leaders_;
  std::map<Epoch, raft::ReplicaKey> keys_;
};

}  // namespace castellan::sim

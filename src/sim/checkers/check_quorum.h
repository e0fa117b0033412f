// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A leader that no majority fetches from gives up (KIP-835's check-quorum): it may not answer for a quorum that has another leader.
// Kafka's bound is one and a half fetch timeouts; three are allowed here, for clocks that run at their own pace.

#pragma once

#include <map>

#include "sim/checkers/report.h"
#include "sim/checkers/seen.h"
#include "sim/network.h"

namespace castellan::sim {

class CheckQuorum {
 public:
  static constexpr std::string_view name = "check quorum";
  CheckQuorum(Report& report, const Network& network) : report_(report), network_(network) {}

  void elected(int node, MonotonicTime now) { elected_[node] = now; }
  // `resumed`: when the leader's process last went on after it was stopped.
  void look(const Seen& leader, MonotonicTime now, MonotonicTime resumed, Duration fetch_timeout);

 private:
  Report& report_;
  const Network& network_;
  std::map<int, MonotonicTime> elected_;
};

}  // namespace castellan::sim

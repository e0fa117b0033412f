// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Finds damage before a reader does: segments that an earlier process wrote are checked once after a start, a piece at a time on
// a worker, with pauses that leave the disk to clients. Damage goes to the node's log by file and position, at a bounded rate,
// and to the metrics. When all is checked nothing runs any more.
//
// Owner: Broker. One loop; only VerifyTask::run is elsewhere.

#pragma once

#include <deque>

#include "broker/partition.h"

namespace castellan::broker {

class Broker;

class Verification {
 public:
  explicit Verification(Broker& broker) : broker_(broker) {}

  // The partitions whose logs are open now.
  void start();
  void stop() { waiting_.clear(); }

 private:
  void next();
  void finish(PartitionId id, log::VerifyTask& task, Duration took);

  Broker& broker_;
  std::deque<PartitionId> waiting_;
};

}  // namespace castellan::broker

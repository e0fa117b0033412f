// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Decides which compacted log is cleaned next, and has it cleaned on a worker (B264): the dirtiest first, one at a time, so
// that memory is bounded by log.cleaner.dedupe.buffer.size. When nothing is due it looks again after log.cleaner.backoff.ms.
//
// Owner: Broker. One loop; only CleanTask::run is elsewhere.

#pragma once

#include <atomic>
#include <memory>

#include "broker/partition.h"

namespace castellan::log {
class CleanTask;
struct CleanCandidate;
}

namespace castellan::broker {

class Broker;

class Compaction {
 public:
  explicit Compaction(Broker& broker) : broker_(broker) {}

  void start();
  // The task that runs ends soon, without a result.
  void stop();

 private:
  void look();
  void look_later();
  void clean(Partition& partition, const log::CleanCandidate& candidate);
  void finish(PartitionId id, log::CleanTask& task, const Result<void>& result);

  Broker& broker_;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  std::set<PartitionId> uncleanable_;  // damaged: said once, left alone until the next start
};

}  // namespace castellan::broker

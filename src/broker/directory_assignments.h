// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Tells the controller in which directory a replica really lies, where the metadata does not say so (B448, KIP-858):
// gathered for a moment, sent together, tried again until the controller has taken it.
//
// Owner: Partitions. One loop.

#pragma once

#include <chrono>
#include <map>

#include "base/bytes.h"
#include "base/result.h"
#include "broker/partition.h"

namespace castellan::broker {

class Broker;

class DirectoryAssignments {
 public:
  explicit DirectoryAssignments(Broker& broker) : broker_(broker) {}

  void report(const PartitionId& partition, DirectoryId directory);
  // The partition went, or moved.
  void forget(const PartitionId& partition) { waiting_.erase(partition); }

 private:
  void send_in(std::chrono::milliseconds delay);
  void send();
  void on_answer(const std::map<PartitionId, DirectoryId>& sent, Result<Bytes> answer);

  Broker& broker_;
  std::map<PartitionId, DirectoryId> waiting_;
  std::chrono::milliseconds backoff_{0};
  bool scheduled_ = false;
};

}  // namespace castellan::broker

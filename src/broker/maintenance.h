// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the broker does by the clock: retention, removal of deleted files, checkpoints, forgetting idle producers, syncs that
// flush.ms asks for, and the check of segments that an earlier process wrote. Each part looks only when something can be
// due, so an idle broker is not woken for nothing.
//
// Owner: Broker. One loop; syncs and compaction run on workers.

#pragma once

#include <functional>
#include <set>

#include "base/time.h"
#include "broker/log_directories.h"
#include "broker/partition.h"

namespace castellan::broker {

class Broker;

class Maintenance {
 public:
  explicit Maintenance(Broker& broker) : broker_(broker) {}

  void start();

 private:
  using Action = void (Maintenance::*)();
  // Runs `action` each time the setting's interval has passed; a changed setting counts from the next time.
  void every(const char* interval_key, Action action);

  void apply_retention();
  void remove_files();
  void write_offset_checkpoints();
  void write_high_watermarks();
  void write_later(const LogDirectories::Directory& directory, std::string_view name, log::OffsetsByPartition offsets);
  void expire_producers();
  void flush(Partition& partition);
  void schedule_file_removal();

  Broker& broker_;
  std::set<PartitionId> flushing_;
  Deadlines::Id removal_{};
};

}  // namespace castellan::broker

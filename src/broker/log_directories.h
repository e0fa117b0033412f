// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The directories of log.dirs as the broker sees them: which are there, which have failed, which holds the fewest
// partitions, and their checkpoint files. A directory that fails goes offline with its reason; the node goes on as long
// as one is left.
//
// Owner: Partitions. One loop.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "log/directory.h"

namespace castellan::broker {

class Broker;

class LogDirectories {
 public:
  struct Directory {
    std::string path;
    DirectoryId id;                            // zero when meta.properties could not be read
    std::unique_ptr<log::LogDirectory> state;  // none: offline
    std::string offline_reason;
    size_t partitions = 0;

    bool online() const { return state != nullptr; }
  };

  explicit LogDirectories(Broker& broker) : broker_(broker) {}

  // Reads every directory. An error when none is left.
  Result<void> open();

  std::vector<std::unique_ptr<Directory>>& all() { return directories_; }
  Directory* by_id(DirectoryId id);
  Directory* by_path(std::string_view path);
  // The online one with the fewest partitions; none when all are offline.
  Directory* roomiest();
  std::vector<DirectoryId> online_ids() const;   // sorted
  std::vector<DirectoryId> offline_ids() const;  // sorted, those whose id is known
  // Of the clean stop before this start; -1 when any directory was not stopped cleanly, or not by the same broker epoch.
  int64_t previous_broker_epoch() const { return previous_broker_epoch_; }

  void set_offline(Directory& directory, const std::string& reason);

 private:
  Broker& broker_;
  std::vector<std::unique_ptr<Directory>> directories_;
  int64_t previous_broker_epoch_ = -1;
};

}  // namespace castellan::broker

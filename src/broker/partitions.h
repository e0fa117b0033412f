// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Every partition that the metadata gives this broker, and the log directories that they live in. Follows the image:
// what is new is opened or made, what is gone is deleted, what changed its leader or epoch is told so (B440 to B446).
//
//   partitions.open_directories();                 // reads the folders, opens nothing yet
//   partitions.on_image(before, after);            // the first one opens the logs that are there
//   auto found = partitions.find("orders", 3);
//   if (!found.partition) answer(found.error);
//
// A bad partition goes offline with its reason in the node's log; a bad directory takes its partitions with it; the rest
// is served. Owner: Broker. One loop.

#pragma once

#include <map>

#include "broker/directory_assignments.h"
#include "broker/log_directories.h"
#include "broker/partition.h"

namespace castellan::image {
struct Image;
struct Topic;
}

namespace castellan::broker {

class Broker;

class Partitions {
 public:
  explicit Partitions(Broker& broker) : broker_(broker), directories_(broker), assignments_(broker) {}

  Result<void> open_directories() { return directories_.open(); }
  LogDirectories& directories() { return directories_; }

  // `before` is null for the first image.
  void on_image(const image::Image* before, const image::Image& after);
  // Settings of the broker or of topics have changed: every partition's rules anew.
  void on_settings_changed();

  struct Found {
    Partition* partition = nullptr;
    ErrorCode error = ErrorCode::NONE;  // why there is none
  };
  Found find(std::string_view topic, int32_t index);
  Found find(TopicId topic, int32_t index);
  Partition* hosted(const PartitionId& id);
  // A topic that was deleted while this process ran (the last ones): a fetch session may still name it.
  bool was_deleted(TopicId topic) const { return deleted_.contains(topic); }
  const std::map<PartitionId, std::unique_ptr<Partition>>& all() const { return partitions_; }

  // The disk failed under this partition: it, or its whole directory, goes offline.
  void on_storage_error(Partition& partition, const Error& error);
  // Called when no log directory is left: the node must stop.
  std::function<void(std::string reason)> on_all_directories_failed;
  // Brings the directory's offsets up to date, for its checkpoints.
  void note_offsets(LogDirectories::Directory& directory);
  // Before the first append: the folder, its topic id and the note that this node made it are on disk when this returns. Later
  // calls cost nothing. Making many partitions would take a second for each few dozen if each were synced at once.
  Result<void> seal(Partition& partition);
  // The log's start was moved: it is on disk when this returns.
  Result<void> store_log_start(Partition& partition);
  void fail_directory(LogDirectories::Directory& directory, const std::string& reason);

  // Syncs and closes every log; the clean shutdown is recorded where all went well.
  void close(int64_t broker_epoch);

  // Called with each partition of an internal topic that this broker begins or ceases to lead, after the change.
  std::function<void(Partition& partition, bool leads)> on_leadership;

 private:
  void remove(const PartitionId& id);
  // old: the partition was in the metadata before this process came up, so its records may lie somewhere.
  void update(const image::Topic& topic, int32_t index, const image::Partition& metadata, bool old);
  void open_or_create(Partition& partition, const image::Partition& metadata, bool old);
  void apply_config(Partition& partition);
  // Folders that belong to no partition of this broker are renamed and kept (B446); those marked as deleted are removed.
  void set_strays_aside(const image::Image& image);
  void forget_departed();
  void remove_folder_later(std::string path, int64_t delay_ms);

  Broker& broker_;
  LogDirectories directories_;
  DirectoryAssignments assignments_;
  std::map<PartitionId, std::unique_ptr<Partition>> partitions_;
  std::vector<std::unique_ptr<log::Log>> retired_logs_;
  std::set<TopicId> deleted_;
};

}  // namespace castellan::broker

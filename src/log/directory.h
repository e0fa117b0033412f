// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One directory of log.dirs (or the metadata log directory): its lock, identity, partition folders, checkpoints and clean
// marker (doc/formats/log-directory.md).
//
//   TRY(auto lock, lock_directory(files, path));            // every directory's, before anything is opened
//   TRY(auto directory, LogDirectory::open(files, path));   // reads; changes nothing
//   TRY_VOID(directory->begin());                           // takes the clean marker away: from here on a crash needs recovery
//   for (auto& folder : directory->folders()) Log::open(..., directory->open_options(folder.partition, now));
//   ... checkpoints now and then ...
//   directory->end(broker_epoch)                            // all logs were closed: marker
//
// Threads: belongs to one thread. What cannot be read but costs only time is a notice; what must not be guessed is an error.

#pragma once

#include <set>

#include "log/checkpoints.h"
#include "log/log.h"
#include "log/meta_properties.h"
#include "log/topic_partition.h"

namespace castellan::log {

// Takes DIRECTORY/.lock, making the directory's file but not the directory. Fails at once when another process has it.
Result<std::unique_ptr<io::FileLock>> lock_directory(io::FileSystem& files, const std::string& directory);

// .kafka_cleanshutdown: the marker of a clean stop, {"version":0,"brokerEpoch":N} (KIP-966).
struct CleanShutdown {
  int64_t broker_epoch = -1;  // -1 unknown
};
Result<std::optional<CleanShutdown>> read_clean_shutdown(const io::FileSystem& files, const std::string& directory);

class LogDirectory {
 public:
  // `path` exists. Reads everything below but no partition.
  static Result<std::unique_ptr<LogDirectory>> open(io::FileSystem& files, std::string path);

  const std::string& path() const { return path_; }
  const std::optional<MetaProperties>& meta_properties() const { return meta_properties_; }
  const std::optional<CleanShutdown>& clean_shutdown() const { return clean_shutdown_; }
  // Partition folders of all kinds, sorted by name. The metadata log's is not among them, nor is lost+found.
  const std::vector<PartitionFolder>& folders() const { return folders_; }
  std::vector<Notice> take_notices() { return std::exchange(notices_, {}); }

  // The clean marker goes.
  Result<void> begin();
  // What the checkpoints say of a partition.
  OpenOptions open_options(const TopicPartition& partition, WallTime now) const;
  std::string folder_path(const TopicPartition& partition) const { return io::join(path_, folder_name(partition)); }

  // The offsets as they stand; a write_* puts them on disk. Entries of partitions that went are the caller's to erase.
  OffsetsByPartition recovery_points, log_starts, high_watermarks, cleaned;
  Result<void> write_recovery_points() { return write(recovery_point_name, recovery_points); }
  Result<void> write_log_starts() { return write(log_start_name, log_starts); }
  Result<void> write_high_watermarks() { return write(high_watermark_name, high_watermarks); }
  Result<void> write_cleaned() { return write(cleaner_name, cleaned); }
  void forget(const TopicPartition& partition);

  // Makes a partition's folder with its partition.metadata, and remembers that it did so: all synced when this returns.
  Result<void> make_partition(const TopicPartition& partition, TopicId topic_id);
  // Folders that this node made and has not deleted. One that is listed but not there was lost; one that is not listed is new.
  bool made(TopicId topic_id, int32_t partition) const { return made_.contains({topic_id, partition}); }
  const std::set<std::pair<TopicId, int32_t>>& made_partitions() const { return made_; }
  // Before the folder is renamed for deletion, or when it was moved away.
  Result<void> forget_made(TopicId topic_id, int32_t partition);

  // All logs are closed and checkpoints written: a clean stop.
  Result<void> end(int64_t broker_epoch);

 private:
  LogDirectory(io::FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  Result<void> write(std::string_view name, const OffsetsByPartition& offsets) { return write_checkpoint(files_, io::join(path_, name), offsets); }
  Result<void> read_made();
  Result<void> journal(std::string_view line);

  io::FileSystem& files_;
  std::string path_;
  std::optional<MetaProperties> meta_properties_;
  std::optional<CleanShutdown> clean_shutdown_;
  std::vector<PartitionFolder> folders_;
  std::set<std::pair<TopicId, int32_t>> made_;
  std::unique_ptr<io::File> made_file_;
  uint64_t made_size_ = 0;
  std::vector<Notice> notices_;
};

}  // namespace castellan::log

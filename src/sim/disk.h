// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The disk of a simulated node: io/memory's, which loses and tears what was not synced, with eyes on it. What is written to the
// metadata log and which snapshots come into being is told to whoever checks; the node knows nothing of it.

#pragma once

#include <functional>

#include "io/memory/memory_file_system.h"
#include "sim/checkers/log_mirror.h"

namespace castellan::sim {

class Disk final : public io::FileSystem {
 public:
  io::MemoryFileSystem& memory() { return memory_; }
  LogMirror& log() { return log_; }
  const LogMirror& log() const { return log_; }
  // A file took this name: a snapshot became whole.
  void on_renamed(std::function<void(const std::string& to)> told) { renamed_ = std::move(told); }
  // Power fails; then the log is what is found.
  void crash(Prng* random, const std::string& folder);

  Result<std::unique_ptr<io::File>> open(const std::string& path, io::OpenMode mode) override;
  bool exists(const std::string& path) const override { return memory_.exists(path); }
  bool is_directory(const std::string& path) const override { return memory_.is_directory(path); }
  Result<std::vector<io::DirectoryEntry>> list(const std::string& path) const override { return memory_.list(path); }
  Result<void> make_directories(const std::string& path) override { return memory_.make_directories(path); }
  Result<void> remove(const std::string& path) override { return memory_.remove(path); }
  Result<void> remove_all(const std::string& path) override { return memory_.remove_all(path); }
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> sync_directory(const std::string& path) override { return memory_.sync_directory(path); }
  Result<int64_t> modified_ms(const std::string& path) const override { return memory_.modified_ms(path); }
  Result<void> set_modified_ms(const std::string& path, int64_t ms) override { return memory_.set_modified_ms(path, ms); }
  Result<io::DiskSpace> disk_space(const std::string& path) const override { return memory_.disk_space(path); }
  Result<std::unique_ptr<io::FileLock>> lock(const std::string& path) override { return memory_.lock(path); }

 private:
  class SegmentFile;

  io::MemoryFileSystem memory_;
  LogMirror log_;
  std::function<void(const std::string&)> renamed_;
};

}  // namespace castellan::sim

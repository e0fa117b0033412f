// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A file system in memory for tests and the simulator. It knows what a disk would still have after a power cut: bytes of a
// file that were synced, names of a directory that was synced. Everything else is lost by crash(), or kept in part.
//
//   MemoryFileSystem files;
//   files.fail_when([&](Operation operation, const std::string& path) { return ++count > 17 ? std::optional(EIO) : std::nullopt; });
//   ... work until it fails ...
//   files.fail_when(nullptr);
//   files.crash(&random);      // what a machine would find when it comes back
//
// Safe from any thread. Open files of before a crash must not be used after it; locks are let go by it.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "base/prng.h"
#include "io/file.h"

namespace castellan::io {

class MemoryFileSystem final : public FileSystem {
 public:
  // What a hook is asked about, before it is done.
  enum class Operation { open, read, write, truncate, sync, list, make_directory, remove, rename, sync_directory, set_modified, lock };
  // An errno value makes the operation fail with it.
  using Hook = std::function<std::optional<int>(Operation, const std::string& path)>;

  MemoryFileSystem();
  ~MemoryFileSystem() override;

  // Null: nothing fails.
  void fail_when(Hook hook);
  // Writes that would make all files together larger fail with ENOSPC.
  void set_capacity(uint64_t bytes);
  // The wall clock that modification times are taken from.
  void set_time(int64_t milliseconds);

  // Power cut. Without `random` everything that was not synced is gone. With it, of the unsynced writes and names any prefix in
  // time survives, and the last write perhaps in part.
  void crash(Prng* random = nullptr);

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  bool exists(const std::string& path) const override;
  bool is_directory(const std::string& path) const override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) const override;
  Result<void> make_directories(const std::string& path) override;
  Result<void> remove(const std::string& path) override;
  Result<void> remove_all(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<int64_t> modified_ms(const std::string& path) const override;
  Result<void> set_modified_ms(const std::string& path, int64_t milliseconds) override;
  Result<DiskSpace> disk_space(const std::string& path) const override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

 private:
  struct Node;  // a file or directory, whatever its names
  class OpenFile;
  class Lock;

  std::shared_ptr<Node> find(std::string_view path) const;
  Result<std::shared_ptr<Node>> directory_of(std::string_view action, const std::string& path) const;
  Result<void> allowed(Operation operation, std::string_view action, const std::string& path) const;
  void link(Node& directory, const std::string& name, std::shared_ptr<Node> node);

  mutable std::mutex mutex_;
  std::shared_ptr<Node> root_;
  Hook hook_;
  uint64_t capacity_ = uint64_t{1} << 40;
  uint64_t used_ = 0;
  int64_t now_ms_ = 0;
  std::set<std::string> locked_;
};

}  // namespace castellan::io

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The file system as the durable libraries see it: io/posix is the real one, io/memory keeps everything in memory, and the
// simulator's is one that loses unsynced writes, tears them, fails and fills up. Nothing above this calls open(2) itself.
//
// Paths are plain strings. Every error names the path, and its code is KAFKA_STORAGE_ERROR; not_found and no_space tell
// two cases apart that callers treat differently.
//
// Threads: a FileSystem may be used from any thread; a File by one thread at a time, except that read_at, sync and
// native_handle may run beside one writer.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace castellan::io {

class File {
 public:
  virtual ~File() = default;

  // Reads up to buffer.size() bytes at `position`; fewer only at the end of the file.
  virtual Result<size_t> read_at(uint64_t position, std::span<uint8_t> buffer) const = 0;
  // Writes all of `bytes` at `position`; in one call to the system where the system lets it.
  virtual Result<void> write_at(uint64_t position, BytesView bytes) = 0;
  // The same for several pieces that become neighbours.
  virtual Result<void> write_at(uint64_t position, std::span<const BytesView> pieces);
  virtual Result<void> truncate(uint64_t size) = 0;
  // Content, and the size it needs, are on disk when this returns (fdatasync).
  virtual Result<void> sync() = 0;
  virtual Result<uint64_t> size() const = 0;
  // The descriptor for sendfile(2), or -1 where there is none.
  virtual int native_handle() const { return -1; }
  virtual const std::string& path() const = 0;
};

// An exclusive lock that lives as long as this object.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class OpenMode {
  read_only,
  read_write,   // must exist
  create,       // made empty when absent
  create_new,   // must not exist
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;

  friend auto operator<=>(const DirectoryEntry&, const DirectoryEntry&) = default;
};

struct DiskSpace {
  uint64_t total_bytes = 0;
  uint64_t usable_bytes = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual bool exists(const std::string& path) const = 0;
  virtual bool is_directory(const std::string& path) const = 0;
  // Sorted by name, without "." and "..".
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) const = 0;
  virtual Result<void> make_directories(const std::string& path) = 0;
  virtual Result<void> remove(const std::string& path) = 0;           // a file, or an empty directory; absent is success
  virtual Result<void> remove_all(const std::string& path) = 0;       // a tree; absent is success
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;  // replaces `to` atomically
  // Names made, renamed or removed in this directory are on disk when this returns.
  virtual Result<void> sync_directory(const std::string& path) = 0;
  virtual Result<int64_t> modified_ms(const std::string& path) const = 0;  // wall clock, milliseconds
  virtual Result<void> set_modified_ms(const std::string& path, int64_t milliseconds) = 0;
  virtual Result<DiskSpace> disk_space(const std::string& path) const = 0;
  // Takes the lock of `path` (made when absent, never deleted), or fails at once when another process has it.
  // Java's FileChannel.lock is a POSIX record lock, so io/posix uses an open-file-description record lock over the
  // whole file and then checks that the path still leads to the file it has locked.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  // The whole file; for the small ones. At most `limit` bytes, more is an error.
  Result<Bytes> read_file(const std::string& path, uint64_t limit = 64 << 20) const;
  // Writes `path`.tmp, syncs it, renames it over `path`, syncs the directory: a reader sees the old or the new content.
  // With `sync` false the syncs are left out: a crash of the machine may leave the old content, the new, or none.
  Result<void> replace_file(const std::string& path, BytesView content, std::string_view temporary_suffix = ".tmp", bool sync = true);
};

std::string join(std::string_view directory, std::string_view name);
std::string parent(std::string_view path);
std::string base_name(std::string_view path);

// What an implementation answers when a call failed: "cannot open /data/x: No space left on device".
Error storage_error(std::string_view action, std::string_view path, int error_number);

// "No such file" as against every other failure of open.
bool is_not_found(const Error& error);
bool is_no_space(const Error& error);

}  // namespace castellan::io

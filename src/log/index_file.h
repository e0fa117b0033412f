// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A segment's two sparse indexes: .index (offset -> position in the .log) and .timeindex (largest timestamp so far -> offset), fixed-size
// entries that rise (B239, B240; doc/formats/indexes.md). They only save time: all they say can be read from the .log again, so the
// last few entries are kept in memory and written in blocks, and a file that makes no sense is rebuilt by its owner.
//
// Apache Kafka preallocates the active segment's indexes with zeros. We do not, but we read files that end in zeros.

#pragma once

#include <memory>
#include <optional>

#include "io/file.h"

namespace castellan::log {

// What the two have in common: entries in a file, the newest in memory.
class IndexFile {
 public:
  IndexFile(io::FileSystem& files, std::string path, size_t entry_size) : files_(files), path_(std::move(path)), entry_size_(entry_size) {}

  // Nothing is opened before it is needed. An absent file has no entries.
  Result<size_t> count();
  Result<void> append(BytesView entry);
  // Entry i as it lies in the file.
  Result<void> get(size_t i, std::span<uint8_t> entry);
  // The number of entries for which `before` holds; it must hold for a first part of them.
  Result<size_t> partition_point(const std::function<bool(const uint8_t* entry)>& before);
  Result<void> truncate(size_t count);
  Result<void> write_tail();  // everything is in the file, and the file ends there
  Result<void> seal();        // the same, and the file is there even when it is empty
  Result<void> sync();
  void rename(std::string path);  // the file was renamed
  const std::string& path() const { return path_; }
  size_t entry_size() const { return entry_size_; }
  // Writes the tail; the file when it was written since the last call, for the caller to sync. Null: there is nothing to sync.
  Result<std::shared_ptr<io::File>> file_to_sync();

 private:
  static constexpr size_t tail_limit = 4096;  // bytes

  Result<void> load();
  Result<void> open_file();

  io::FileSystem& files_;
  std::string path_;
  size_t entry_size_;
  bool loaded_ = false;
  std::shared_ptr<io::File> file_;
  size_t in_file_ = 0;  // entries
  bool file_is_longer_ = false;  // zeros or old entries lie behind
  bool unsynced_ = false;
  Bytes tail_;
};

class OffsetIndex {
 public:
  static constexpr size_t entry_size = 8;

  struct Entry {
    int64_t offset = 0;     // the last one of the batch that begins at position
    uint64_t position = 0;
  };

  OffsetIndex(io::FileSystem& files, std::string path, int64_t base_offset) : file_(files, std::move(path), entry_size), base_offset_(base_offset) {}

  Result<void> append(int64_t offset, uint64_t position);
  // The last entry with an offset <= `offset`; {base offset, 0} when there is none.
  Result<Entry> find(int64_t offset);
  // The first entry with a position >= `position`.
  Result<std::optional<Entry>> entry_from(uint64_t position);
  Result<std::optional<Entry>> last();
  // Entries of offsets from `offset` on go.
  Result<void> truncate_to(int64_t offset);
  // Do entries rise, and lie within a log of `log_size` bytes?
  Result<bool> sane(uint64_t log_size);

  IndexFile& file() { return file_; }

 private:
  Entry decode(const uint8_t* entry) const {
    return {base_offset_ + load_big_endian<int32_t>(entry), static_cast<uint32_t>(load_big_endian<int32_t>(entry + 4))};
  }

  IndexFile file_;
  int64_t base_offset_;
};

class TimeIndex {
 public:
  static constexpr size_t entry_size = 12;

  struct Entry {
    int64_t timestamp = -1;
    int64_t offset = 0;     // the last one of the batch that has it
  };

  TimeIndex(io::FileSystem& files, std::string path, int64_t base_offset) : file_(files, std::move(path), entry_size), base_offset_(base_offset) {}

  // Adds an entry when the timestamp is above the last one's.
  Result<void> maybe_append(int64_t timestamp, int64_t offset);
  // The last entry with a timestamp <= `timestamp`; {-1, base offset} when there is none.
  Result<Entry> find(int64_t timestamp);
  Result<Entry> last();
  Result<void> truncate_to(int64_t offset);
  Result<bool> sane();

  IndexFile& file() { return file_; }

 private:
  Entry decode(const uint8_t* entry) const { return {load_big_endian<int64_t>(entry), base_offset_ + load_big_endian<int32_t>(entry + 8)}; }

  IndexFile file_;
  int64_t base_offset_;
};

}  // namespace castellan::log

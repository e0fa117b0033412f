// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What one replica has in its metadata log, batch by batch, as the disk saw it written. Independent of what the node believes: it is
// made of the bytes that reached the files, and read anew from them after a crash.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "io/file.h"

namespace castellan::sim {

struct LogEntry {
  int64_t base = 0;
  int64_t end = 0;
  int32_t epoch = 0;
  uint32_t crc = 0;
  bool control = false;
  std::shared_ptr<const Bytes> bytes;  // the batch
};

class LogMirror {
 public:
  // Whole batches, at the end of the log or instead of its end.
  void wrote(BytesView batches);
  // The log now ends at `end`, or goes on at `start` with nothing in it.
  void truncate_to(int64_t end);
  void restart_at(int64_t start);
  // Everything written to the segment that begins at `base` is durable.
  void synced(int64_t segment_base);
  // From the files of a node that is down or has just come up; all of it counts as durable.
  void reload(const io::FileSystem& files, const std::string& folder);

  const std::vector<LogEntry>& entries() const { return entries_; }
  int64_t start() const { return start_; }  // of what is known here; snapshots stand for what is before
  int64_t end() const { return entries_.empty() ? start_ : entries_.back().end; }
  int64_t durable_end() const { return durable_end_; }
  // The batch that holds `offset`, if it is here.
  const LogEntry* at(int64_t offset) const;
  // What was written, and what became durable, since the last call.
  std::span<const LogEntry> take_written() { return take(written_seen_, entries_.size()); }
  std::span<const LogEntry> take_durable();

 private:
  std::span<const LogEntry> take(size_t& seen, size_t until) {
    const size_t from = std::exchange(seen, std::max(seen, until));
    return std::span(entries_).subspan(from, seen - from);
  }

  std::vector<LogEntry> entries_;
  int64_t start_ = 0;
  int64_t durable_end_ = 0;
  size_t written_seen_ = 0, durable_seen_ = 0;  // how many of entries_ have been taken
};

}  // namespace castellan::sim

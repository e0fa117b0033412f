// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Which leader epoch wrote from which offset on: the partition's leader-epoch-checkpoint (KIP-101), kept in memory and on disk.
// Epochs and offsets rise strictly. The batches in the log say the same, so a lost file is rebuilt from them.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/file.h"

namespace castellan::log {

struct EpochEntry {
  int32_t epoch = -1;
  int64_t start_offset = -1;

  friend auto operator<=>(const EpochEntry&, const EpochEntry&) = default;
};

struct EpochEndOffset {
  int32_t epoch = -1;       // -1 undefined
  int64_t end_offset = -1;

  friend auto operator<=>(const EpochEndOffset&, const EpochEndOffset&) = default;
};

class LeaderEpochCache {
 public:
  const std::vector<EpochEntry>& entries() const { return entries_; }
  std::optional<EpochEntry> latest() const { return entries_.empty() ? std::nullopt : std::optional(entries_.back()); }
  std::optional<EpochEntry> previous(int32_t epoch) const;  // the largest epoch below
  // The epoch of the record at `offset`.
  std::optional<int32_t> epoch_for_offset(int64_t offset) const;
  // Where the largest epoch <= `epoch` ends, as OffsetsForLeaderEpoch answers it.
  EpochEndOffset end_offset_for(int32_t epoch, int64_t log_end_offset) const;

  // Each answers whether something changed, so that the caller writes the file.
  bool assign(int32_t epoch, int64_t start_offset);  // removes entries that it contradicts
  bool truncate_from_end(int64_t end_offset);        // entries that start at or beyond go
  bool truncate_from_start(int64_t start_offset);    // the one that covers start_offset starts there
  void clear() { entries_.clear(); }

  // Replaces the checkpoint file; on disk when it returns, unless `sync` is false. Garbage in it is CORRUPT_MESSAGE, an absent file an empty cache.
  Result<void> write(io::FileSystem& files, const std::string& path, bool sync) const;
  static Result<LeaderEpochCache> read(const io::FileSystem& files, const std::string& path);

 private:
  std::vector<EpochEntry> entries_;
};

}  // namespace castellan::log

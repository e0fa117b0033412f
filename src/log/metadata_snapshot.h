// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Snapshots of the metadata log: OFFSET-EPOCH.checkpoint files of record batches in the log's folder (KIP-630;
// doc/formats/metadata-snapshot.md). The first batch is a control batch with the header, the last one holds the footer. A snapshot
// is written as .checkpoint.part and renamed once it is whole and synced, so a .checkpoint is whole unless the disk damaged it.
//
//   TRY(auto writer, SnapshotWriter::create(files, folder, {.end_offset = 172, .epoch = 1}));
//   TRY_VOID(writer->append(batch)); ... TRY_VOID(writer->freeze());
//   TRY(auto reader, SnapshotReader::open(files, folder, id));
//   while (true) { TRY(auto batch, reader->next()); if (!batch) break; ... }
//
// Threads: a writer or reader belongs to one thread at a time.

#pragma once

#include <memory>
#include <optional>

#include "io/file.h"
#include "record/batch.h"
#include "record/control.h"

namespace castellan::log {

struct SnapshotId {
  int64_t end_offset = 0;  // the first offset that is not in it
  int32_t epoch = 0;       // of the record before

  std::string text() const;  // "00000000000000000172-0000000001"
  friend auto operator<=>(const SnapshotId&, const SnapshotId&) = default;
};

inline constexpr SnapshotId bootstrap_snapshot{0, 0};

std::string snapshot_path(const std::string& folder, SnapshotId id);
// Whole snapshots, oldest first. Leftovers (.part, .deleted) are removed when `remove_leftovers`.
Result<std::vector<SnapshotId>> list_snapshots(io::FileSystem& files, const std::string& folder, bool remove_leftovers = false);
// Renames to .deleted, then removes.
Result<void> delete_snapshot(io::FileSystem& files, const std::string& folder, SnapshotId id);

class SnapshotWriter {
 public:
  static Result<std::unique_ptr<SnapshotWriter>> create(io::FileSystem& files, std::string folder, SnapshotId id);
  ~SnapshotWriter();  // not frozen: the .part is removed

  SnapshotId id() const { return id_; }
  uint64_t size() const { return size_; }
  // Any bytes, batch or part of one (FetchSnapshot brings pieces).
  Result<void> append(BytesView bytes);
  // Synced, renamed, the folder synced.
  Result<void> freeze();

 private:
  SnapshotWriter(io::FileSystem& files, std::string folder, SnapshotId id) : files_(files), folder_(std::move(folder)), id_(id) {}

  io::FileSystem& files_;
  std::string folder_;
  SnapshotId id_;
  std::unique_ptr<io::File> file_;
  uint64_t size_ = 0;
};

class SnapshotReader {
 public:
  static Result<std::unique_ptr<SnapshotReader>> open(io::FileSystem& files, const std::string& folder, SnapshotId id);

  SnapshotId id() const { return id_; }
  uint64_t size() const { return size_; }
  const std::shared_ptr<const io::File>& file() const { return file_; }  // for FetchSnapshot
  // The next batch, checked; valid until the next call. Nothing behind the footer. Damage, a missing header or footer and bytes behind
  // the footer are CORRUPT_MESSAGE with file and position.
  Result<std::optional<record::BatchView>> next();
  // Reads it all, from the start.
  Result<void> check();

 private:
  SnapshotId id_;
  std::shared_ptr<const io::File> file_;
  uint64_t size_ = 0;
  uint64_t position_ = 0;
  int64_t next_offset_ = 0;
  bool ended_ = false;
  Bytes buffer_;
};

// The batches that open and close a snapshot. A header batch may carry kraft.version and the voters (when kraft.version is 1).
Bytes snapshot_header_batch(SnapshotId id, int64_t last_contained_log_timestamp, const wire::KRaftVersionRecord* kraft_version,
                            const wire::VotersRecord* voters, int64_t now);
Bytes snapshot_footer_batch(SnapshotId id, int64_t base_offset, int64_t now);

}  // namespace castellan::log

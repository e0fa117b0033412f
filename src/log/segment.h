// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One segment: BASE.log with batches back to back, and BASE.index, .timeindex, .txnindex beside it. Offsets in it lie in
// [base, base + 2^31). A segment appends, finds positions and knows which of its bytes are known to be good; what a log makes of
// that is Log's business.
//
// Owned by a Log, used on its thread. The .log file is shared with readers that send from it, and stays open for them.

#pragma once

#include <array>
#include <memory>
#include <optional>

#include "io/file.h"
#include "log/index_file.h"
#include "log/segment_scan.h"
#include "log/transaction_index.h"
#include "record/batch.h"

namespace castellan::log {

std::string segment_file_name(int64_t base_offset, std::string_view suffix);  // "00000000000000000042.log"
// "00000000000000000042.log" -> 42; nothing when the name does not begin with 20 digits and a dot.
std::optional<int64_t> parse_segment_file_name(std::string_view name);

inline constexpr std::string_view log_suffix = ".log";
inline constexpr std::string_view index_suffix = ".index";
inline constexpr std::string_view time_index_suffix = ".timeindex";
inline constexpr std::string_view transaction_index_suffix = ".txnindex";
inline constexpr std::string_view snapshot_suffix = ".snapshot";
inline constexpr std::string_view deleted_suffix = ".deleted";
inline constexpr std::string_view cleaned_suffix = ".cleaned";
inline constexpr std::string_view swap_suffix = ".swap";

// Ranges of bytes, kept merged.
class ByteRanges {
 public:
  void add(uint64_t begin, uint64_t end);
  void truncate(uint64_t end);
  bool cover(uint64_t begin, uint64_t end) const;
  // The first byte from `begin` on that is not in a range.
  uint64_t first_gap(uint64_t begin) const;
  // Where the gap that begins at `begin` ends: at a range, or at `limit`.
  uint64_t gap_end(uint64_t begin, uint64_t limit) const;

 private:
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
};

// Where a batch lies and what it says.
struct BatchPlace {
  uint64_t position = 0;
  uint32_t size = 0;
  int64_t base_offset = 0;
  int64_t last_offset = 0;
  int64_t max_timestamp = -1;
};

class Segment {
 public:
  // The file must exist (or `create`). Its size is looked up, nothing else is read. `extra_suffix`: ".cleaned" while it is being made.
  static Result<std::shared_ptr<Segment>> open(io::FileSystem& files, std::string directory, int64_t base_offset, bool create, int64_t now_ms,
                                               std::string extra_suffix = {});

  int64_t base_offset() const { return base_offset_; }
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  std::string path_of(std::string_view suffix) const;
  Result<std::shared_ptr<io::File>> file();

  // --- append
  // `batches` lie back to back in `bytes`. On failure nothing was appended, or the error says that the file could not be put right (then
  // broken() is set).
  Result<void> append(BytesView bytes, std::span<const BatchPlace> batches, int32_t index_interval_bytes);
  bool broken() const { return broken_; }
  Result<bool> indexes_full(int32_t segment_index_bytes);
  // Timestamp that its age counts from: of its first batch, or of its making.
  Result<int64_t> first_timestamp();
  int64_t created_ms() const { return created_ms_; }
  int64_t largest_timestamp() const { return largest_.timestamp; }
  // The same for a segment that was opened: from its time index, -1 when it has no records.
  Result<int64_t> load_largest_timestamp();
  // The segment takes no more batches: last time index entry, indexes written out.
  Result<void> seal();
  Result<void> append_aborted(const AbortedTransaction& entry);
  Result<void> write_aborted(std::vector<AbortedTransaction> entries);
  // Read once, then kept.
  Result<const std::vector<AbortedTransaction>*> aborted();

  // --- find
  // The first batch whose last offset is >= `offset`; nothing when there is none. Damage on the way is passed over and told.
  Result<std::optional<BatchPlace>> find(int64_t offset, std::vector<BadBytes>& bad);
  // The first batch that reaches from_offset and has a max timestamp >= `timestamp`.
  Result<std::optional<BatchPlace>> find_timestamp(int64_t timestamp, int64_t from_offset, std::vector<BadBytes>& bad);
  // The first index entry of a batch that begins at or behind `position`.
  Result<std::optional<OffsetIndex::Entry>> index_entry_from(uint64_t position);
  // The largest timestamp, and the last offset of the first batch that has it.
  Result<TimeIndex::Entry> largest();

  // --- shape
  Result<void> truncate(uint64_t position, int64_t offset);
  // Indexes made anew: begin, then index_batch for each in order, then seal or go on appending.
  Result<void> begin_rebuild();
  Result<void> index_batch(const BatchPlace& batch, int32_t index_interval_bytes);
  // The same for a batch that has its entry already.
  void count_indexed_batch(const BatchPlace& batch) { bytes_since_index_entry_ += batch.size; }
  // The state of an index that is trusted: what the last entry says, to walk on from. Nothing when it makes no sense.
  Result<std::optional<OffsetIndex::Entry>> trusted_index_end();
  // Renames all its files: "" -> ".deleted", ".cleaned" -> ".swap", ".swap" -> "".
  Result<void> change_suffix(std::string_view to);
  std::vector<std::string> existing_paths() const;
  // Files to sync for what was appended: the log, and with `indexes` the rest.
  Result<void> files_to_sync(std::vector<std::shared_ptr<io::File>>& to, bool indexes);

  // Offsets in it lie below: the next segment's base, INT64_MAX for the active one.
  void set_limit_offset(int64_t offset) { limit_offset_ = offset; }
  int64_t limit_offset() const { return limit_offset_; }
  SegmentScanner scan(const io::File& file, uint64_t position, ScanDepth depth) const {
    return {file, position, size_, base_offset_, base_offset_, limit_offset_, depth};
  }

  ByteRanges& verified() { return verified_; }
  void set_size(uint64_t size) { size_ = size; }
  OffsetIndex& offset_index() { return offset_index_; }
  TimeIndex& time_index() { return time_index_; }

 private:
  Segment(io::FileSystem& files, std::string directory, int64_t base_offset, std::string extra_suffix, int64_t now_ms);
  Result<void> sane_indexes();
  // From `position`, where a batch begins, to the first that is wanted.
  Result<std::optional<BatchPlace>> walk(uint64_t position, std::vector<BadBytes>& bad, const std::function<bool(const record::BatchView&)>& wanted);

  static constexpr size_t recent_kept = 64;

  io::FileSystem& files_;
  std::string directory_;
  int64_t base_offset_;
  std::string extra_suffix_;
  std::string path_;
  int64_t created_ms_;
  uint64_t size_ = 0;
  int64_t limit_offset_ = INT64_MAX;
  std::shared_ptr<io::File> file_;
  OffsetIndex offset_index_;
  TimeIndex time_index_;
  bool indexes_checked_ = false;
  bool broken_ = false;
  int64_t bytes_since_index_entry_ = 0;
  std::optional<std::vector<AbortedTransaction>> aborted_;
  TimeIndex::Entry largest_;
  bool largest_known_ = false;
  std::optional<int64_t> first_timestamp_;
  // The last batches appended, so that reads at the tail ask no file.
  std::vector<BatchPlace> recent_;
  size_t recent_next_ = 0;
  // The last batches looked up elsewhere, so that a reader that stands, or goes on batch by batch, needs no index.
  std::array<BatchPlace, 8> found_;  // of size 0: none
  size_t found_next_ = 0;
  ByteRanges verified_;
};

}  // namespace castellan::log

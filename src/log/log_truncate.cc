// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What leaves a log at its end: truncation to an offset, starting anew, and the whole folder's way out.

#include "base/check.h"
#include "log/log.h"
#include "log/segment.h"
#include "log/topic_partition.h"

namespace castellan::log {

Result<bool> Log::truncate_to(int64_t offset) {
  TRY_VOID(usable());
  CHECK(offset >= 0, "{}: cannot truncate to {}", directory_, offset);
  if (offset >= log_end_offset_) return false;
  if (segments_.begin()->first > offset || offset < log_start_offset_) {
    TRY_VOID(truncate_fully_and_start_at(offset));
    return true;
  }
  ++truncations_;
  unchanged_since_clean_stop_ = false;
  // Whatever fails on the way leaves files and memory apart: then only a new start helps.
  const auto cut = [&]() -> Result<void> {
    const auto holding = segment_holding(offset);
    TRY_VOID(remove_segments(std::next(holding), segments_.end(), {}, true));
    set_segment_limits();
    std::vector<BadBytes> bad;
    TRY(const auto place, holding->second->find(offset, bad));
    uint64_t position = place ? place->position : holding->second->size();
    // Inside damage: all of it goes.
    for (const BadBytes& range : bad)
      if (range.next_offset <= offset && (!range.good_follows || range.resumed_offset > offset)) position = std::min(position, range.position);
    if (position < holding->second->size()) TRY_VOID(holding->second->truncate(position, offset));
    std::vector<AbortedTransaction> kept;
    TRY(const auto* aborted, holding->second->aborted());
    std::ranges::copy_if(*aborted, std::back_inserter(kept), [offset](const auto& entry) { return entry.last_offset < offset; });
    if (kept.size() != aborted->size()) TRY_VOID(holding->second->write_aborted(std::move(kept)));
    log_end_offset_ = offset;
    if (leader_epochs_.truncate_from_end(offset)) TRY_VOID(write_epochs());
    TRY_VOID(remove_producer_snapshots([offset](int64_t at) { return at > offset; }));
    std::erase_if(damaged_, [offset](const DamagedRange& range) { return range.first_offset >= offset; });
    return load_producers({});
  };
  if (auto done = cut(); !done) {
    failed_ = done.error();
    return unexpected(std::move(done).error());
  }
  recovery_point_ = std::min(recovery_point_, offset);
  set_high_watermark(high_watermark_);
  return true;
}

Result<void> Log::truncate_fully_and_start_at(int64_t offset) {
  TRY_VOID(usable());
  ++truncations_;
  unchanged_since_clean_stop_ = false;
  const auto cut = [&]() -> Result<void> {
    TRY_VOID(remove_segments(segments_.begin(), segments_.end(), {}, true));
    TRY(auto segment, Segment::open(files_, directory_, offset, true, 0));
    if (segment->size() > 0) TRY_VOID(segment->truncate(0, offset));
    segments_[offset] = std::move(segment);
    directory_dirty_ = true;
    leader_epochs_.clear();
    TRY_VOID(write_epochs());
    return remove_producer_snapshots([](int64_t) { return true; });
  };
  if (auto done = cut(); !done) {
    failed_ = done.error();
    return done;
  }
  producers_.clear();
  damaged_.clear();
  log_start_offset_ = log_end_offset_ = high_watermark_ = offset;
  recovery_point_ = std::min(recovery_point_, offset);
  return {};
}

Result<std::string> Log::rename_for_deletion(const Uuid& unique) {
  const auto folder = parse_folder_name(io::base_name(directory_));
  if (!folder) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{} is no partition's folder", directory_);
  const std::string renamed = io::join(io::parent(directory_), folder_name(folder->partition, FolderKind::deleted, unique));
  TRY_VOID(rename_folder(renamed));
  return renamed;
}

Result<void> Log::rename_folder(const std::string& new_directory) {
  TRY_VOID(files_.rename(directory_, new_directory));
  failed_ = Error{ErrorCode::KAFKA_STORAGE_ERROR, fmt::format("{} was renamed to {}", directory_, new_directory)};
  return files_.sync_directory(io::parent(new_directory));
}

}  // namespace castellan::log

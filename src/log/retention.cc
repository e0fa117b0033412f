// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What leaves a log at its front: retention by start offset, size and age, DeleteRecords, and the delayed removal of files.

#include "log/log.h"
#include "log/segment.h"

namespace castellan::log {

uint64_t Log::size() const {
  uint64_t total = 0;
  for (const auto& [base, segment] : segments_) total += segment->size();
  return total;
}

std::vector<SegmentInfo> Log::segments() const {
  std::vector<SegmentInfo> result;
  for (auto segment = segments_.begin(); segment != segments_.end(); ++segment)
    result.push_back({segment->first, end_of(segment), segment->second->size(), segment->second->largest_timestamp(), std::next(segment) == segments_.end()});
  return result;
}

Result<void> Log::advance_log_start(int64_t offset) {
  TRY_VOID(usable());
  if (offset > high_watermark_)
    return fail(ErrorCode::OFFSET_OUT_OF_RANGE, "cannot move the log start offset of {} to {}, beyond the high watermark {}", directory_, offset, high_watermark_);
  if (offset <= log_start_offset_) return {};
  log_start_offset_ = offset;
  producers_.on_log_start(offset);
  if (leader_epochs_.truncate_from_start(offset)) TRY_VOID(write_epochs());
  return {};
}

Result<int> Log::delete_old_segments(WallTime now) {
  TRY_VOID(usable());
  int64_t excess = config_.retention_bytes < 0 ? -1 : static_cast<int64_t>(size()) - config_.retention_bytes;
  auto end = segments_.begin();
  for (; end != segments_.end(); ++end) {
    const bool is_active = std::next(end) == segments_.end();
    Segment& segment = *end->second;
    if (end_of(end) > high_watermark_ || (is_active && segment.size() == 0)) break;
    bool due = !is_active && end_of(end) <= log_start_offset_;
    if (!due && config_.cleanup_delete && config_.retention_ms >= 0) {
      TRY(int64_t newest, segment.load_largest_timestamp());
      if (newest < 0) {
        TRY(newest, files_.modified_ms(segment.path()));
      }
      due = now.milliseconds - newest > config_.retention_ms;
    }
    if (!due && config_.cleanup_delete && excess >= 0 && excess >= static_cast<int64_t>(segment.size())) due = true;
    if (!due) break;
    excess -= static_cast<int64_t>(segment.size());
  }
  const auto count = static_cast<int>(std::distance(segments_.begin(), end));
  if (count == 0) return 0;
  if (end == segments_.end()) {  // a log has an active segment always
    TRY_VOID(roll(now));
    end = std::prev(segments_.end());
  }
  const int64_t new_start = end->first;
  TRY_VOID(advance_log_start(new_start));
  TRY_VOID(remove_segments(segments_.begin(), end, now, false));
  std::erase_if(damaged_, [new_start](const DamagedRange& range) { return range.end_offset <= new_start; });
  return count;
}

Result<void> Log::remove_segments(SegmentMap::iterator first, SegmentMap::iterator last, WallTime now, bool at_once) {
  PendingRemoval removal{now + std::chrono::milliseconds(config_.file_delete_delay_ms), {}};
  std::vector<std::shared_ptr<Segment>> victims;
  for (auto at = first; at != last; ++at) victims.push_back(at->second);
  segments_.erase(first, last);
  // From the front when the front goes, from the end when the end does: a crash in between leaves a log without a hole.
  if (at_once) std::ranges::reverse(victims);
  for (const auto& segment : victims) {
    const std::string snapshot = path(segment_file_name(segment->base_offset(), snapshot_suffix));
    if (at_once) {
      for (const std::string& file : segment->existing_paths()) TRY_VOID(files_.remove(file));
      TRY_VOID(files_.remove(snapshot));
      continue;
    }
    TRY_VOID(segment->change_suffix(deleted_suffix));
    for (std::string& file : segment->existing_paths()) removal.paths.push_back(std::move(file));
    if (files_.exists(snapshot)) {
      TRY_VOID(files_.rename(snapshot, snapshot + std::string(deleted_suffix)));
      removal.paths.push_back(snapshot + std::string(deleted_suffix));
    }
  }
  if (!removal.paths.empty()) removals_.push_back(std::move(removal));
  return {};
}

void Log::remove_deleted_files(WallTime now) {
  while (!removals_.empty() && removals_.front().due <= now) {
    for (const std::string& file : removals_.front().paths)
      if (auto removed = files_.remove(file); !removed) notice(Notice::Level::warning, removed.error().message + "; it is removed at the next start");
    removals_.pop_front();
  }
}

std::optional<WallTime> Log::next_file_removal() const { return removals_.empty() ? std::nullopt : std::optional(removals_.front().due); }

}  // namespace castellan::log

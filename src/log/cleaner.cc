// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/cleaner.h"

#include "base/check.h"
#include "record/builder.h"
#include "record/control.h"
#include "record/old_format.h"
#include "record/reader.h"

namespace castellan::log {

double CleanCandidate::dirty_ratio() const {
  const uint64_t total = clean_bytes + cleanable_bytes;
  return total == 0 ? 0 : static_cast<double>(cleanable_bytes) / static_cast<double>(total);
}

bool CleanCandidate::due(const LogConfig& config) const {
  if (!config.cleanup_compact || cleanable_bytes == 0) return false;
  return lag_exceeded || dirty_ratio() > config.min_cleanable_dirty_ratio;
}

// --- on the owner's thread

Result<CleanCandidate> Log::clean_candidate(std::optional<int64_t> checkpoint, WallTime now) {
  CleanCandidate candidate;
  const bool usable_checkpoint = checkpoint && *checkpoint >= log_start_offset_ && *checkpoint <= log_end_offset_;
  candidate.first_dirty_offset = usable_checkpoint ? *checkpoint : log_start_offset_;
  // Not beyond the last stable offset, the active segment and what is younger than min.compaction.lag.ms.
  int64_t bound = std::min(last_stable_offset(), active().base_offset());
  int64_t oldest_dirty = INT64_MAX;
  for (auto segment = segment_holding(candidate.first_dirty_offset); std::next(segment) != segments_.end(); ++segment) {
    TRY(const int64_t newest, segment->second->load_largest_timestamp());
    if (config_.min_compaction_lag_ms > 0 && newest > now.milliseconds - config_.min_compaction_lag_ms) bound = std::min(bound, segment->first);
    TRY(const int64_t first, segment->second->first_timestamp());
    if (first > 0) oldest_dirty = std::min(oldest_dirty, first);
  }
  // Whole segments only: the one that holds the bound stays.
  candidate.first_uncleanable_offset = segment_holding(std::max(bound, candidate.first_dirty_offset))->first;
  for (auto segment = segments_.begin(); segment != segments_.end() && segment->first < candidate.first_uncleanable_offset; ++segment) {
    if (end_of(segment) <= candidate.first_dirty_offset) candidate.clean_bytes += segment->second->size();
    else candidate.cleanable_bytes += segment->second->size();
  }
  const int64_t lag = std::max<int64_t>(config_.max_compaction_lag_ms, 0);
  candidate.lag_exceeded = oldest_dirty != INT64_MAX && now.milliseconds - oldest_dirty > lag;
  return candidate;
}

Result<std::unique_ptr<CleanTask>> Log::begin_clean(const CleanCandidate& candidate, WallTime now) {
  TRY_VOID(usable());
  std::unique_ptr<CleanTask> task(new CleanTask);
  task->files_ = &files_;
  task->directory_ = directory_;
  task->config_ = config_;
  task->now_ = now;
  task->high_watermark_ = high_watermark_;
  task->first_dirty_offset_ = candidate.first_dirty_offset;
  task->truncations_ = truncations_;
  for (auto segment = segments_.begin(); segment != segments_.end(); ++segment) {
    // An abort marker may lie behind what is cleaned.
    TRY(const auto* aborted, segment->second->aborted());
    task->aborted_.insert(task->aborted_.end(), aborted->begin(), aborted->end());
    if (segment->first >= candidate.first_uncleanable_offset) continue;
    CHECK(std::next(segment) != segments_.end(), "{}: the active segment is not compacted", directory_);
    TRY(std::shared_ptr<const io::File> file, segment->second->file());
    TRY(const int64_t modified, files_.modified_ms(segment->second->path()));
    task->sources_.push_back({segment->second, std::move(file), segment->second->path(), segment->first, end_of(segment), segment->second->size(), modified});
  }
  for (const auto& [id, state] : producers_.all())
    task->last_records_[id] = {state.batches.empty() ? std::nullopt : std::optional(state.last_offset()), state.epoch};
  return task;
}

Result<CleanStats> Log::finish_clean(CleanTask& task, WallTime now) {
  TRY_VOID(usable());
  unchanged_since_clean_stop_ = false;
  bool same = task.truncations_ == truncations_;
  for (const CleanTask::Group& group : task.groups_) {
    for (const CleanTask::Source& source : group.sources) {
      const auto there = segments_.find(source.base_offset);
      same = same && there != segments_.end() && there->second == source.segment;
    }
  }
  if (!same) return fail(ErrorCode::OPERATION_NOT_ATTEMPTED, "{} changed while it was compacted; nothing was swapped in", directory_);

  const auto swap = [&](CleanTask::Group& group) -> Result<void> {
    // In two steps, so that a crash at any rename leaves a whole set: .cleaned -> .swap from the end, then the old ones go, then .swap -> "".
    for (auto cleaned = group.cleaned.rbegin(); cleaned != group.cleaned.rend(); ++cleaned) TRY_VOID((*cleaned)->change_suffix(swap_suffix));
    TRY_VOID(files_.sync_directory(directory_));
    PendingRemoval removal{now + std::chrono::milliseconds(config_.file_delete_delay_ms), {}};
    for (const CleanTask::Source& source : group.sources) {
      segments_.erase(source.base_offset);
      TRY_VOID(source.segment->change_suffix(deleted_suffix));
      for (std::string& file : source.segment->existing_paths()) removal.paths.push_back(std::move(file));
    }
    removals_.push_back(std::move(removal));
    for (const auto& cleaned : group.cleaned) {
      TRY_VOID(cleaned->change_suffix(""));
      segments_[cleaned->base_offset()] = cleaned;
    }
    for (const CleanTask::Source& source : group.sources)
      if (!segments_.contains(source.base_offset)) TRY_VOID(files_.remove(path(segment_file_name(source.base_offset, snapshot_suffix))));
    set_segment_limits();
    return files_.sync_directory(directory_);
  };
  task.finished_ = true;
  for (CleanTask::Group& group : task.groups_) {
    task.stats_.segments_before += static_cast<int>(group.sources.size());
    task.stats_.segments_after += static_cast<int>(group.cleaned.size());
    if (auto swapped = swap(group); !swapped) {
      failed_ = swapped.error();
      return unexpected(std::move(swapped).error());
    }
  }
  return task.stats_;
}

// --- transactions

CleanTask::Transactions::Transactions(std::vector<AbortedTransaction> aborted, int64_t start_offset) : aborted_(std::move(aborted)) {
  std::erase_if(aborted_, [start_offset](const AbortedTransaction& entry) { return entry.last_offset < start_offset; });
  std::ranges::sort(aborted_, {}, &AbortedTransaction::first_offset);
}

void CleanTask::Transactions::open_up_to(int64_t offset) {
  for (; next_ < aborted_.size() && aborted_[next_].first_offset <= offset; ++next_) open_.try_emplace(aborted_[next_].producer_id, Open{aborted_[next_]});
}

Result<bool> CleanTask::Transactions::discards(const record::BatchView& batch, std::vector<AbortedTransaction>* kept) {
  open_up_to(batch.last_offset());
  if (!batch.is_control()) {
    if (!batch.is_transactional()) return false;
    if (const auto found = open_.find(batch.producer_id()); found != open_.end()) {
      found->second.seen = true;
      return true;
    }
    committed_.insert(batch.producer_id());
    return false;
  }
  record::RecordReader reader(batch);
  record::Record record;
  TRY(const bool some, reader.next(record));
  if (!some) return true;  // emptied before
  TRY(const auto type, record::parse_control_key(record.key));
  if (type == record::ControlType::commit) return committed_.erase(batch.producer_id()) == 0;
  if (type != record::ControlType::abort) return false;
  const auto found = open_.find(batch.producer_id());
  if (found == open_.end()) return true;
  const Open open = found->second;
  open_.erase(found);
  if (!open.seen) return true;
  if (kept) kept->push_back(open.transaction);  // its data goes now, the marker with the next round after its horizon
  return false;
}

// --- on any thread

CleanTask::~CleanTask() {
  if (finished_) return;
  for (const Group& group : groups_)
    for (const auto& cleaned : group.cleaned)
      for (const std::string& path : cleaned->existing_paths()) (void)files_->remove(path);  // a leftover is removed at the next start
}

Result<void> CleanTask::between_batches() const {
  if (cancelled_ && cancelled_->load(std::memory_order_relaxed)) return fail(ErrorCode::OPERATION_NOT_ATTEMPTED, "compaction of {} was cancelled", directory_);
  if (pace_) pace_(mapped_bytes_ + stats_.bytes_read + stats_.bytes_written);
  return {};
}

Result<void> CleanTask::check_format(const Source& source, const SegmentScanner& scanner, const record::BatchView& batch) {
  if (!record::is_old(batch)) return {};
  return fail(ErrorCode::CORRUPT_MESSAGE, "{} has a message of the old format {} at byte {}: such a log is kept as it is, not compacted", source.path, batch.magic(),
              scanner.position());
}

Result<void> CleanTask::run(OffsetMap& map, const std::atomic<bool>* cancelled, Pace pace) {
  cancelled_ = cancelled;
  pace_ = std::move(pace);
  map.clear();
  TRY_VOID(build_map(map));
  stats_.end_offset = std::max(map.latest_offset() + 1, first_dirty_offset_);
  // Neighbours are put together as long as they fit into one segment.
  uint64_t size = 0;
  for (const Source& source : sources_) {
    if (source.base_offset >= stats_.end_offset) break;
    const bool joins = !groups_.empty() && size + source.size <= static_cast<uint64_t>(config_.segment_bytes) &&
                       source.end_offset - groups_.back().sources.front().base_offset <= INT32_MAX;
    if (!joins) {
      groups_.emplace_back();
      size = 0;
    }
    groups_.back().sources.push_back(source);
    size += source.size;
  }
  Transactions transactions(aborted_, 0);
  for (Group& group : groups_) TRY_VOID(clean_group(group, map, transactions));
  return {};
}

Result<void> CleanTask::build_map(OffsetMap& map) {
  map.set_latest_offset(first_dirty_offset_ - 1);
  const auto first = std::ranges::find_if(sources_, [this](const Source& source) { return source.end_offset > first_dirty_offset_; });
  if (first == sources_.end()) return {};
  Transactions transactions(aborted_, first->base_offset);
  for (const Source& source : std::span(first, sources_.end())) {
    SegmentScanner scanner(*source.file, 0, source.size, source.base_offset, source.base_offset, source.end_offset, ScanDepth::checksums);
    for (;;) {
      TRY_VOID(between_batches());
      TRY(const auto batch, scanner.next());
      if (!scanner.bad().empty())
        return fail(ErrorCode::CORRUPT_MESSAGE, "{} is damaged at byte {}: {}; it is not compacted", source.path, scanner.bad().front().position,
                    scanner.bad().front().reason);
      if (!batch) break;
      TRY_VOID(check_format(source, scanner, *batch));
      mapped_bytes_ += batch->size();
      TRY(const bool discards, transactions.discards(*batch, nullptr));
      if (!discards && !batch->is_control()) {
        record::RecordReader reader(*batch);
        record::Record record;
        for (;;) {
          TRY(const bool more, reader.next(record));
          if (!more) break;
          if (!record.key || record.offset < first_dirty_offset_) continue;
          if (!map.put(*record.key, record.offset)) {
            // Full. What was taken in is compacted now, the rest in a later round.
            if (map.latest_offset() < first_dirty_offset_)
              return fail(ErrorCode::RECORD_LIST_TOO_LARGE, "{}: the {} keys that the cleaner's buffer holds do not suffice for one batch; raise log.cleaner.dedupe.buffer.size",
                          source.path, map.capacity());
            return {};
          }
        }
      }
      if (batch->last_offset() >= first_dirty_offset_) map.set_latest_offset(batch->last_offset());
    }
    // Compacted away at the end or not: all of the segment has been seen.
    map.set_latest_offset(std::max(map.latest_offset(), source.end_offset - 1));
  }
  return {};
}

Result<std::shared_ptr<Segment>> CleanTask::new_segment(int64_t base_offset) {
  TRY(auto segment, Segment::open(*files_, directory_, base_offset, true, now_.milliseconds, std::string(cleaned_suffix)));
  if (segment->size() > 0) TRY_VOID(segment->truncate(0, base_offset));
  return segment;
}

Result<void> CleanTask::close_segment(Segment& segment, std::vector<AbortedTransaction>& aborted, int64_t modified_ms) {
  TRY_VOID(segment.seal());
  TRY_VOID(segment.write_aborted(std::exchange(aborted, {})));
  std::vector<std::shared_ptr<io::File>> files;
  TRY_VOID(segment.files_to_sync(files, true));
  for (const auto& file : files) TRY_VOID(file->sync());
  return files_->set_modified_ms(segment.path(), modified_ms);
}

Result<void> CleanTask::clean_group(Group& group, const OffsetMap& map, Transactions& transactions) {
  TRY(auto first, new_segment(group.sources.front().base_offset));
  group.cleaned.push_back(std::move(first));
  std::vector<AbortedTransaction> aborted;
  for (const Source& source : group.sources) {
    SegmentScanner scanner(*source.file, 0, source.size, source.base_offset, source.base_offset, source.end_offset, ScanDepth::checksums);
    for (;;) {
      TRY_VOID(between_batches());
      TRY(const auto batch, scanner.next());
      if (!scanner.bad().empty())
        return fail(ErrorCode::CORRUPT_MESSAGE, "{} is damaged at byte {}: {}; it is not compacted", source.path, scanner.bad().front().position,
                    scanner.bad().front().reason);
      if (!batch) break;
      TRY_VOID(check_format(source, scanner, *batch));
      stats_.bytes_read += batch->size();
      const size_t aborted_before = aborted.size();
      TRY(const bool discards, transactions.discards(*batch, &aborted));
      TRY(const Bytes kept, filter(*batch, map, discards, discards && batch->is_control()));
      if (kept.empty()) continue;
      Segment* target = group.cleaned.back().get();
      const bool overflows = target->size() > 0 && (target->size() + kept.size() > static_cast<uint64_t>(config_.segment_bytes) ||
                                                    batch->last_offset() - target->base_offset() > INT32_MAX);
      if (overflows) {
        std::vector<AbortedTransaction> before(aborted.begin(), aborted.begin() + static_cast<ptrdiff_t>(aborted_before));
        aborted.erase(aborted.begin(), aborted.begin() + static_cast<ptrdiff_t>(aborted_before));
        TRY_VOID(close_segment(*target, before, source.modified_ms));
        TRY(auto next, new_segment(batch->base_offset()));
        group.cleaned.push_back(std::move(next));
        target = group.cleaned.back().get();
      }
      const record::BatchView view(kept);
      const BatchPlace place{0, static_cast<uint32_t>(kept.size()), view.base_offset(), view.last_offset(), view.max_timestamp()};
      TRY_VOID(target->append(kept, {&place, 1}, config_.index_interval_bytes));
      stats_.bytes_written += kept.size();
    }
  }
  return close_segment(*group.cleaned.back(), aborted, group.sources.back().modified_ms);
}

// What is left of a batch: itself, one with fewer records, an empty one, or nothing. `discard`: its records may go (of a marker: once its
// horizon has passed).
Result<Bytes> CleanTask::filter(const record::BatchView& batch, const OffsetMap& map, bool discard, bool marker_of_nothing) {
  const auto horizon = batch.delete_horizon();
  const bool horizon_passed = horizon && *horizon <= now_.milliseconds;
  const bool discard_records = discard && (!batch.is_control() || horizon_passed);

  std::vector<bool> kept;
  size_t count = 0;
  bool tombstones = false;
  record::RecordReader reader(batch);
  record::Record record;
  for (;;) {
    TRY(const bool more, reader.next(record));
    if (!more) break;
    ++stats_.records_read;
    bool keep = false;
    if (!discard_records) {
      if (batch.is_control() || record.offset > map.latest_offset()) {
        keep = true;
      } else if (!record.key) {
        ++stats_.records_without_key;
      } else {
        keep = record.offset >= map.find(*record.key) && (record.value || !horizon || now_.milliseconds < *horizon);
      }
    }
    kept.push_back(keep);
    if (!keep) continue;
    ++count;
    tombstones |= !record.value;
  }
  stats_.records_kept += count;

  if (count == 0) {
    const auto last = batch.has_producer_id() ? last_records_.find(batch.producer_id()) : last_records_.end();
    const bool last_of_producer = last != last_records_.end() && (last->second.data_offset ? batch.last_offset() == *last->second.data_offset
                                                                                          : batch.is_control() && batch.producer_epoch() == last->second.epoch);
    // The batch before the high watermark keeps the log's end where it is.
    if (last_of_producer || batch.next_offset() == high_watermark_) return record::empty_batch(batch);
    return Bytes{};
  }
  const bool set_horizon = (tombstones || marker_of_nothing) && !horizon;
  if (count == kept.size() && !set_horizon) return to_bytes(batch.bytes());

  record::BatchOptions options{.base_offset = batch.base_offset(), .leader_epoch = batch.leader_epoch(), .compression = batch.compression(),
                               .producer_id = batch.producer_id(), .producer_epoch = batch.producer_epoch(), .base_sequence = batch.base_sequence(),
                               .transactional = batch.is_transactional(), .control = batch.is_control()};
  if (batch.timestamp_type() == record::TimestampType::log_append_time) options.log_append_time = batch.max_timestamp();
  options.delete_horizon = set_horizon ? std::optional(now_.milliseconds + config_.delete_retention_ms) : horizon;
  record::BatchBuilder builder(options);
  record::RecordReader again(batch);
  for (size_t i = 0;; ++i) {
    TRY(const bool more, again.next(record));
    if (!more) break;
    if (kept[i]) builder.append_record(record.offset, record);
  }
  return builder.finish(batch.last_offset());
}

}  // namespace castellan::log

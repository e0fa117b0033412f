// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Appending, rolling, flushing. Opening is in recovery.cc, reading in log_read.cc, what leaves at the front in retention.cc and at the end in
// log_truncate.cc.

#include "log/log.h"

#include "base/check.h"
#include "log/segment.h"
#include "record/control.h"
#include "record/reader.h"

namespace castellan::log {
namespace {

constexpr std::string_view epochs_name = "leader-epoch-checkpoint";

// Spreads the rolls of partitions that were made together, the same way each time a segment is asked.
int64_t jitter_of(int64_t base_offset, const LogConfig& config) {
  const int64_t limit = std::min(config.segment_jitter_ms, config.segment_ms);
  if (limit <= 0) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(base_offset) * 0x9e3779b97f4a7c15ull >> 1) % limit;
}

}  // namespace

Log::Log(io::FileSystem& files, std::string directory, const LogConfig& config) : files_(files), directory_(std::move(directory)), config_(config) {}
Log::~Log() = default;

Segment& Log::active() const {
  CHECK(!segments_.empty());
  return *segments_.rbegin()->second;
}

int64_t Log::end_of(SegmentMap::const_iterator segment) const {
  const auto next = std::next(segment);
  return next == segments_.end() ? log_end_offset_ : next->first;
}

Log::SegmentMap::iterator Log::segment_holding(int64_t offset) {
  auto at = segments_.upper_bound(offset);
  return at == segments_.begin() ? at : std::prev(at);
}

void Log::set_segment_limits() {
  for (auto segment = segments_.begin(); segment != segments_.end(); ++segment) {
    const auto next = std::next(segment);
    segment->second->set_limit_offset(next == segments_.end() ? INT64_MAX : next->first);
  }
}

Result<void> Log::usable() const {
  if (failed_) return unexpected(*failed_);
  return {};
}

int64_t Log::last_stable_offset() const { return std::min(high_watermark_, producers_.first_unstable_offset().value_or(INT64_MAX)); }

void Log::set_high_watermark(int64_t offset) {
  high_watermark_ = std::clamp(offset, log_start_offset_, log_end_offset_);
  producers_.on_high_watermark(high_watermark_);
}

// --- append

Result<AppendResult> Log::append_as_leader(std::span<uint8_t> bytes, int32_t leader_epoch, WallTime now, AppendOrigin origin) {
  TRY_VOID(usable());
  batches_.clear();
  int64_t next_offset = log_end_offset_;
  record::BatchScanner scanner(bytes);
  for (;;) {
    const size_t position = scanner.position();
    TRY(const auto batch, scanner.next());
    if (!batch) break;
    if (batch->last_offset_delta() < 0) return fail(ErrorCode::INVALID_RECORD, "a batch cannot have last offset delta {}", batch->last_offset_delta());
    if (batch->has_producer_id()) {
      if (origin == AppendOrigin::client) {
        TRY(const auto before, find_duplicate(*batch));
        if (before)
          return AppendResult{.first_offset = before->first_offset(), .last_offset = before->last_offset, .max_timestamp = before->timestamp,
                              .log_append_time = before->timestamp, .duplicate = true};
        TRY_VOID(producers_.check(*batch));
      } else if (batch->is_control()) {
        record::RecordReader reader(*batch);
        record::Record record;
        TRY(const bool some, reader.next(record));
        if (!some) return fail(ErrorCode::INVALID_RECORD, "a control batch of producer {} is empty", batch->producer_id());
        TRY(const auto marker, record::parse_end_transaction_marker(record));
        TRY_VOID(producers_.check_marker(batch->producer_id(), batch->producer_epoch(), marker));
      }
    }
    const std::span<uint8_t> whole = bytes.subspan(position, batch->size());
    record::set_base_offset(whole, next_offset);
    record::set_leader_epoch(whole, leader_epoch);
    next_offset = batch->next_offset();
    batches_.push_back({position, static_cast<uint32_t>(batch->size()), batch->base_offset(), batch->last_offset(), batch->max_timestamp()});
  }
  if (batches_.empty() || !scanner.remaining().empty())
    return fail(ErrorCode::INVALID_RECORD, "{} bytes to append hold {} batches and {} bytes that are none", bytes.size(), batches_.size(), scanner.remaining().size());
  return append_batches(bytes, now);
}

Result<AppendResult> Log::append_as_follower(BytesView bytes, WallTime now, int32_t epoch_limit) {
  TRY_VOID(usable());
  batches_.clear();
  int64_t next_offset = log_end_offset_;
  size_t position = 0;
  while (bytes.size() - position >= record::batch_prefix_size) {
    const BytesView left = bytes.subspan(position);
    const int32_t length = load_big_endian<int32_t>(left.data() + record::header::length);
    if (length >= 0 && left.size() < record::batch_prefix_size + static_cast<size_t>(length)) break;  // a fetch answer may be cut off
    TRY(const auto batch, record::check_batch(left));
    if (batch.leader_epoch() != record::no_leader_epoch && batch.leader_epoch() >= epoch_limit) break;
    if (batch.base_offset() < next_offset)
      return fail(ErrorCode::OFFSET_OUT_OF_RANGE, "{}: a batch to append has base offset {}, below the next offset {} (log start offset {})", directory_,
                  batch.base_offset(), next_offset, log_start_offset_);
    next_offset = batch.next_offset();
    batches_.push_back({position, static_cast<uint32_t>(batch.size()), batch.base_offset(), batch.last_offset(), batch.max_timestamp()});
    position += batch.size();
  }
  if (batches_.empty()) return AppendResult{};
  return append_batches(bytes.first(position), now);
}

Result<AppendResult> Log::append_batches(BytesView bytes, WallTime now) {
  AppendResult result{.first_offset = batches_.front().base_offset, .last_offset = batches_.back().last_offset, .bytes = static_cast<int64_t>(bytes.size())};
  for (const BatchPlace& batch : batches_) result.max_timestamp = std::max(result.max_timestamp, batch.max_timestamp);
  TRY_VOID(maybe_roll(bytes.size(), result.first_offset, result.last_offset, result.max_timestamp, now));
  for (const BatchPlace& batch : batches_) {
    const int32_t epoch = record::BatchView(bytes.subspan(batch.position)).leader_epoch();
    if (epoch >= 0) TRY_VOID(assign_epoch(epoch, batch.base_offset));
  }
  const std::vector<BatchPlace>::iterator first = batches_.begin();
  if (auto appended = active().append(bytes, batches_, config_.index_interval_bytes); !appended) {
    if (active().broken()) failed_ = appended.error();
    return unexpected(std::move(appended).error());
  }
  log_end_offset_ = result.last_offset + 1;
  unchanged_since_clean_stop_ = false;
  for (auto batch = first; batch != batches_.end(); ++batch) {
    if (auto taken = take_in(record::BatchView(bytes.subspan(batch->position, batch->size))); !taken) {
      // The batch is in the log; what follows from it is not in the .txnindex. Only a new start puts that right.
      failed_ = taken.error();
      return unexpected(std::move(taken).error());
    }
  }
  return result;
}

Result<void> Log::take_in(const record::BatchView& batch) {
  if (!batch.has_producer_id()) return {};
  if (!batch.is_control()) {
    producers_.update(batch);
    return {};
  }
  record::RecordReader reader(batch);
  record::Record record;
  const auto some = reader.next(record);
  if (!some || !*some) return {};  // an emptied control batch: its transaction is gone
  const auto marker = record::parse_end_transaction_marker(record);
  if (!marker) return {};
  const auto completed = producers_.end_transaction(batch.producer_id(), batch.producer_epoch(), *marker, batch.base_offset(), record.timestamp);
  if (!completed || !completed->aborted) return {};
  return active().append_aborted({completed->producer_id, completed->first_offset, completed->last_offset, producers_.last_stable_offset_after(*completed)});
}

// --- epochs

Result<void> Log::write_epochs() { return leader_epochs_.write(files_, path(epochs_name), true); }

// The batches say what the file says, so it need not be on disk before they are: the flush that moves the recovery point
// over them syncs it (begin_flush), and what lies behind the recovery point is scanned after a crash.
Result<void> Log::write_epochs_until_flush(const LeaderEpochCache& epochs) {
  TRY_VOID(epochs.write(files_, path(epochs_name), false));
  epochs_dirty_ = true;
  return {};
}

Result<void> Log::assign_epoch(int32_t epoch, int64_t start_offset) {
  const auto latest = leader_epochs_.latest();
  if (latest && latest->epoch == epoch && latest->start_offset <= start_offset) return {};
  LeaderEpochCache changed = leader_epochs_;
  if (!changed.assign(epoch, start_offset)) return {};
  TRY_VOID(write_epochs_until_flush(changed));
  leader_epochs_ = std::move(changed);
  return {};
}

Result<void> Log::start_leader_epoch(int32_t epoch) {
  TRY_VOID(usable());
  return assign_epoch(epoch, log_end_offset_);
}

void Log::expire_producers(WallTime now) { producers_.expire(now.milliseconds, config_.producer_id_expiration_ms); }

// --- roll

Result<void> Log::maybe_roll(size_t incoming, int64_t first_offset, int64_t last_offset, int64_t timestamp, WallTime now) {
  Segment& segment = active();
  bool due = segment.size() + incoming > static_cast<uint64_t>(config_.segment_bytes) || last_offset - segment.base_offset() > INT32_MAX;
  if (!due && segment.size() > 0) {
    TRY(const int64_t first, segment.first_timestamp());
    const int64_t age = first >= 0 ? timestamp - first : now.milliseconds - segment.created_ms();
    due = age > config_.segment_ms - jitter_of(segment.base_offset(), config_);
  }
  if (!due) {
    TRY(due, segment.indexes_full(config_.segment_index_bytes));
  }
  if (!due) return {};
  return roll_at(std::max(first_offset, log_end_offset_), now);
}

Result<void> Log::roll(WallTime now) {
  TRY_VOID(usable());
  return roll_at(log_end_offset_, now);
}

Result<void> Log::roll_at(int64_t base_offset, WallTime now) {
  if (base_offset == active().base_offset()) {
    CHECK(active().size() == 0, "{}: a second segment cannot begin at {}", directory_, base_offset);
    return {};
  }
  TRY_VOID(active().seal());
  TRY_VOID(write_producer_snapshot(false));
  TRY(auto segment, Segment::open(files_, directory_, base_offset, true, now.milliseconds));
  if (segment->size() > 0) TRY_VOID(segment->truncate(0, base_offset));  // a leftover of a roll that failed half-way
  active().set_limit_offset(base_offset);
  segments_[base_offset] = std::move(segment);
  directory_dirty_ = true;
  return {};
}

Result<void> Log::write_producer_snapshot(bool sync) {
  const std::string name = path(segment_file_name(log_end_offset_, snapshot_suffix));
  TRY(std::shared_ptr<io::File> file, files_.open(name, io::OpenMode::create));
  TRY_VOID(file->truncate(0));
  TRY_VOID(file->write_at(0, producers_.encode_snapshot()));
  directory_dirty_ = true;
  if (sync) return file->sync();
  unsynced_snapshots_.push_back(std::move(file));
  return {};
}

Result<void> Log::remove_producer_snapshots(const std::function<bool(int64_t)>& which) {
  TRY(const auto entries, files_.list(directory_));
  for (const auto& entry : entries) {
    const auto offset = parse_segment_file_name(entry.name);
    if (offset && entry.name == segment_file_name(*offset, snapshot_suffix) && which(*offset)) TRY_VOID(files_.remove(path(entry.name)));
  }
  return {};
}

// --- flush

FlushTask Log::begin_flush() {
  FlushTask task;
  task.offset_ = log_end_offset_;
  task.truncations_ = truncations_;
  task.file_system_ = &files_;
  task.directory_ = directory_;
  task.sync_directory_ = std::exchange(directory_dirty_, false);
  task.files_ = std::exchange(unsynced_snapshots_, {});
  if (std::exchange(epochs_dirty_, false)) {
    auto file = files_.open(path(epochs_name), io::OpenMode::read_write);
    if (!file) task.failed_ = file.error();
    else task.files_.push_back(std::move(*file));
    task.sync_directory_ = true;
  }
  for (auto segment = segment_holding(recovery_point_); segment != segments_.end() && !unchanged_since_clean_stop_; ++segment) {
    // The active segment's indexes wait until it is sealed: a crash before that has them made anew anyway.
    const bool sealed = std::next(segment) != segments_.end();
    if (auto listed = segment->second->files_to_sync(task.files_, sealed); !listed) task.failed_ = listed.error();
  }
  return task;
}

Result<void> FlushTask::run() {
  if (failed_) return unexpected(*failed_);
  for (const auto& file : files_) TRY_VOID(file->sync());
  if (sync_directory_) TRY_VOID(file_system_->sync_directory(directory_));
  return {};
}

void Log::finish_flush(const FlushTask& task) {
  if (task.truncations_ != truncations_) return;
  recovery_point_ = std::max(recovery_point_, task.offset_);
}

Result<void> Log::flush() {
  FlushTask task = begin_flush();
  TRY_VOID(task.run());
  finish_flush(task);
  return {};
}

bool Log::flush_due(WallTime now) {
  if (log_end_offset_ <= recovery_point_) {
    last_flush_ms_ = now.milliseconds;
    return false;
  }
  if (log_end_offset_ - recovery_point_ < config_.flush_messages && now.milliseconds - last_flush_ms_ < config_.flush_ms) return false;
  last_flush_ms_ = now.milliseconds;
  return true;
}

Result<void> Log::close() {
  TRY_VOID(usable());
  if (!files_.exists(path(segment_file_name(log_end_offset_, snapshot_suffix)))) unchanged_since_clean_stop_ = false;
  if (!unchanged_since_clean_stop_) {
    TRY_VOID(active().seal());
    TRY_VOID(write_producer_snapshot(false));
  }
  FlushTask task = begin_flush();
  if (!unchanged_since_clean_stop_) TRY_VOID(active().files_to_sync(task.files_, true));
  TRY_VOID(task.run());
  finish_flush(task);
  return {};
}

}  // namespace castellan::log

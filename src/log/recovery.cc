// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Opening a log: leftovers of a crash are put right, then what the files say is taken, checked or made anew (B250 to B259, and
// doc/formats/log-directory.md for what each kind of damage ends in).
//
//   leftovers -> segments -> epochs -> the end of the log, or all behind the recovery point -> producers -> start and high watermark
//
// The rule for bytes that are no batch: when nothing good follows them in the last segment they are a torn write and are cut,
// with a notice; when something good follows, or when they lie below the recovery point (what was synced once cannot tear), they are damage:
// nothing behind is dropped and the range is known.

#include "base/check.h"
#include "base/planted_fault.h"
#include "log/leftovers.h"
#include "log/log.h"
#include "log/segment.h"
#include "record/control.h"
#include "record/reader.h"

namespace castellan::log {
namespace {

constexpr std::string_view epochs_name = "leader-epoch-checkpoint";

}  // namespace

class Recovery {
 public:
  Recovery(Log& log, const OpenOptions& options) : log_(log), options_(options) {}

  Result<void> run() {
    TRY_VOID(log_.files_.make_directories(log_.directory_));
    TRY_VOID(remove_leftovers(log_.files_, log_.directory_, log_.notices_));
    TRY_VOID(open_segments());
    TRY_VOID(load_epochs());
    if (options_.clean_shutdown) {
      TRY_VOID(walk_tail());
    } else {
      TRY_VOID(scan_unsynced());
    }
    TRY_VOID(place_positions());
    return finish_producers();
  }

 private:
  // Step 2.
  Result<void> open_segments() {
    TRY(const auto entries, log_.files_.list(log_.directory_));
    for (const auto& entry : entries) {
      const auto offset = parse_segment_file_name(entry.name);
      if (!offset || entry.is_directory) continue;
      if (entry.name == segment_file_name(*offset, transaction_index_suffix)) TRY_VOID(check_transaction_index(*offset));
      if (entry.name != segment_file_name(*offset, log_suffix)) continue;
      TRY(log_.segments_[*offset], Segment::open(log_.files_, log_.directory_, *offset, false, options_.now.milliseconds));
    }
    if (log_.segments_.empty()) TRY_VOID(add_segment(options_.log_start_offset));
    log_.set_segment_limits();
    return {};
  }

  // Only a scan can make it anew.
  Result<void> check_transaction_index(int64_t base) {
    const auto read = TransactionIndex::read(log_.files_, log_.path(segment_file_name(base, transaction_index_suffix)));
    if (read) return {};
    if (read.error().code != ErrorCode::CORRUPT_MESSAGE) return unexpected(read.error());
    log_.notice(Notice::Level::warning, read.error().message + "; it is made anew from the log");
    options_.clean_shutdown = false;
    scan_from_ = std::min(scan_from_, base);
    return {};
  }

  Result<void> add_segment(int64_t base) {
    TRY(log_.segments_[base], Segment::open(log_.files_, log_.directory_, base, true, options_.now.milliseconds));
    log_.directory_dirty_ = true;
    return {};
  }

  // Step 3. Epochs that cannot be read are in the batches too.
  Result<void> load_epochs() {
    const std::string path = log_.path(epochs_name);
    auto cache = LeaderEpochCache::read(log_.files_, path);
    if (!cache && cache.error().code != ErrorCode::CORRUPT_MESSAGE) return unexpected(std::move(cache).error());
    const bool has_records = log_.segments_.size() > 1 || log_.segments_.begin()->second->size() > 0;
    if (cache && !(cache->entries().empty() && has_records)) {
      log_.leader_epochs_ = std::move(*cache);
      return {};
    }
    epochs_changed_ = true;
    if (!cache) log_.notice(Notice::Level::warning, cache.error().message + "; the epochs are read from the log");
    for (const auto& [base, segment] : log_.segments_) {
      TRY(const auto file, segment->file());
      SegmentScanner scanner = segment->scan(*file, 0, ScanDepth::headers);
      for (;;) {
        TRY(const auto batch, scanner.next());
        if (!batch) break;
        note_epoch(*batch);
      }
    }
    return {};
  }

  void note_epoch(const record::BatchView& batch) {
    const auto latest = log_.leader_epochs_.latest();
    if (batch.leader_epoch() >= 0 && (!latest || batch.leader_epoch() > latest->epoch) && (!latest || batch.base_offset() > latest->start_offset))
      epochs_changed_ |= log_.leader_epochs_.assign(batch.leader_epoch(), batch.base_offset());
  }

  static BatchPlace place_of(const SegmentScanner& scanner, const record::BatchView& batch) {
    return {scanner.position(), static_cast<uint32_t>(batch.size()), batch.base_offset(), batch.last_offset(), batch.max_timestamp()};
  }

  // Where the segment's index ends, when there really is the batch that its last entry means.
  Result<std::optional<OffsetIndex::Entry>> trusted_index_end(Segment& segment) {
    TRY(const auto indexed, segment.trusted_index_end());
    if (!indexed || indexed->position == 0) return indexed;
    TRY(const auto file, segment.file());
    SegmentScanner probe = segment.scan(*file, indexed->position, ScanDepth::headers);
    TRY(const auto batch, probe.next());
    if (!batch || probe.position() != indexed->position || batch->last_offset() != indexed->offset) return std::nullopt;
    return indexed;
  }

  // Step 4 after a clean stop: only the batches behind the last index entry are walked, by their headers.
  Result<void> walk_tail() {
    const auto last = std::prev(log_.segments_.end());
    Segment& segment = *last->second;
    log_.log_end_offset_ = last->first;
    if (segment.size() == 0) return {};
    TRY(const auto file, segment.file());
    TRY(const auto trusted, trusted_index_end(segment));
    if (!trusted) {
      log_.notice(Notice::Level::warning, fmt::format("the indexes of {} make no sense and are made anew", segment.path()));
      TRY_VOID(segment.begin_rebuild());
    }
    const OffsetIndex::Entry indexed = trusted.value_or(OffsetIndex::Entry{last->first - 1, 0});
    SegmentScanner scanner = segment.scan(*file, indexed.position, ScanDepth::headers);
    int64_t next_offset = last->first;
    for (;;) {
      TRY(const auto batch, scanner.next());
      if (!batch) break;
      if (batch->last_offset() <= indexed.offset) segment.count_indexed_batch(place_of(scanner, *batch));
      else TRY_VOID(segment.index_batch(place_of(scanner, *batch), log_.config_.index_interval_bytes));
      note_epoch(*batch);
      next_offset = batch->next_offset();
    }
    return settle(last, scanner.bad(), next_offset);
  }

  // Step 4 after a crash: each segment that reaches beyond the recovery point is read whole.
  Result<void> scan_unsynced() {
    auto first = log_.segment_holding(std::min(options_.recovery_point, scan_from_));
    if (first == log_.segments_.end()) first = std::prev(log_.segments_.end());
    TRY_VOID(replay_up_to(first));
    for (auto segment = first; segment != log_.segments_.end(); ++segment) {
      TRY(const bool go_on, scan(segment));
      if (!go_on) break;
    }
    return {};
  }

  Result<bool> scan(Log::SegmentMap::iterator at) {
    Segment& segment = *at->second;
    TRY(const auto file, segment.file());
    TRY_VOID(segment.begin_rebuild());
    SegmentScanner scanner = segment.scan(*file, 0, ScanDepth::checksums);
    std::vector<AbortedTransaction> aborted;
    int64_t next_offset = at->first;
    while (true) {
      TRY(const auto batch, scanner.next());
      if (options_.on_damage == OnDamage::cut && !scanner.bad().empty()) break;
      if (!batch) break;
      TRY_VOID(segment.index_batch(place_of(scanner, *batch), log_.config_.index_interval_bytes));
      segment.verified().add(scanner.position(), scanner.end_position());
      note_epoch(*batch);
      replay(*batch, &aborted);
      next_offset = batch->next_offset();
    }
    TRY_VOID(segment.write_aborted(std::move(aborted)));
    producers_at_ = next_offset;
    const bool is_last = std::next(at) == log_.segments_.end();
    if (!is_last) TRY_VOID(segment.seal());
    log_.log_end_offset_ = next_offset;
    if (options_.on_damage == OnDamage::cut && !scanner.bad().empty()) {
      const BadBytes& bad = scanner.bad().front();
      log_.notice(Notice::Level::warning, fmt::format("{} is damaged at byte {} ({}): cut there from offset {} on, {} later segments are removed; the other replicas have it",
                                                      segment.path(), bad.position, bad.reason, next_offset, std::distance(std::next(at), log_.segments_.end())));
      TRY_VOID(log_.remove_segments(std::next(at), log_.segments_.end(), options_.now, true));
      TRY_VOID(segment.truncate(bad.position, next_offset));
      return false;
    }
    if (is_last) {
      TRY_VOID(settle(at, scanner.bad(), next_offset));
    } else {
      const int64_t next_base = std::next(at)->first;
      if (next_offset < next_base && scanner.bad().empty() && !log_.config_.cleanup_compact)
        log_.notice(Notice::Level::warning, fmt::format("offsets {} to {} are missing behind the end of {}: it was not synced when the machine stopped", next_offset,
                                                        next_base - 1, segment.path()));
      damage_.insert(damage_.end(), scanner.bad().size(), at->first);
      bad_.insert(bad_.end(), scanner.bad().begin(), scanner.bad().end());
    }
    return true;
  }

  // The end of the last segment is known: bad bytes there are a tear or damage.
  Result<void> settle(Log::SegmentMap::iterator last, const std::vector<BadBytes>& bad, int64_t next_offset) {
    Segment& segment = *last->second;
    log_.log_end_offset_ = next_offset;
    for (const BadBytes& range : bad) {
      if (range.good_follows) {
        damage_.push_back(last->first);
        bad_.push_back(range);
      } else if (next_offset < options_.recovery_point) {
        // It was whole once. What was there is gone, but its offsets were given out: the log goes on behind them, in a new segment.
        damage_.push_back(last->first);
        bad_.push_back(range);
        TRY_VOID(segment.seal());
        log_.log_end_offset_ = options_.recovery_point;
        TRY_VOID(add_segment(options_.recovery_point));
      } else {
        log_.notice(Notice::Level::warning, fmt::format("{} has a torn tail: cut at byte {} from offset {} on, {} bytes ({})", segment.path(), range.position, next_offset,
                                                        range.end - range.position, range.reason));
        cut_ = true;
        if (!planted(Fault::torn_tail_kept)) TRY_VOID(segment.truncate(range.position, next_offset));
      }
    }
    return {};
  }

  // Step 5: start, high watermark, recovery point, and the epochs between start and end.
  Result<void> place_positions() {
    const int64_t first_base = log_.segments_.begin()->first;
    log_.log_start_offset_ = std::max(options_.log_start_offset, first_base);
    if (log_.log_end_offset_ < log_.log_start_offset_) {
      log_.notice(Notice::Level::warning, fmt::format("{} ends at offset {}, before its start offset {}: it begins anew there", log_.directory_, log_.log_end_offset_,
                                                      log_.log_start_offset_));
      TRY_VOID(log_.truncate_fully_and_start_at(log_.log_start_offset_));
      bad_.clear();
      producers_at_ = log_.log_end_offset_;
      epochs_changed_ = false;
    }
    epochs_changed_ |= log_.leader_epochs_.truncate_from_end(log_.log_end_offset_);
    epochs_changed_ |= log_.leader_epochs_.truncate_from_start(log_.log_start_offset_);
    if (epochs_changed_) TRY_VOID(log_.write_epochs_until_flush(log_.leader_epochs_));
    log_.high_watermark_ = std::clamp(options_.high_watermark < 0 ? log_.log_start_offset_ : options_.high_watermark, log_.log_start_offset_, log_.log_end_offset_);
    // What was found by a scan may still be in the page cache only, but for a clean stop.
    log_.recovery_point_ = options_.clean_shutdown ? log_.log_end_offset_ : std::min(options_.recovery_point, log_.log_end_offset_);
    log_.unchanged_since_clean_stop_ = options_.clean_shutdown && !cut_ && log_.truncations_ == 0;
    log_.set_segment_limits();
    log_.last_flush_ms_ = options_.now.milliseconds;
    for (size_t i = 0; i < bad_.size(); ++i) log_.add_damage(log_.segments_.find(damage_[i]), bad_[i]);
    return {};
  }

  // --- producers

  // Loads the newest snapshot that is not beyond `first`'s base and replays the batches up to there.
  Result<void> replay_up_to(Log::SegmentMap::iterator first) {
    TRY(int64_t at, load_snapshot(first->first));
    for (auto segment = log_.segment_holding(at); segment != first && segment != log_.segments_.end(); ++segment) TRY_VOID(replay_segment(segment, at));
    producers_at_ = first->first;
    return {};
  }

  Result<void> replay_segment(Log::SegmentMap::iterator at, int64_t from_offset) {
    Segment& segment = *at->second;
    TRY(const auto file, segment.file());
    uint64_t position = 0;
    if (from_offset > at->first) {
      std::vector<BadBytes> ignored;
      TRY(const auto place, segment.find(from_offset, ignored));
      if (!place) return {};
      position = place->position;
    }
    SegmentScanner scanner = segment.scan(*file, position, ScanDepth::headers);
    for (;;) {
      TRY(const auto batch, scanner.next());
      if (!batch) return {};
      if (batch->base_offset() >= from_offset) replay(*batch, nullptr);
    }
  }

  void replay(const record::BatchView& batch, std::vector<AbortedTransaction>* aborted) {
    if (!batch.has_producer_id()) return;
    ProducerStates& producers = log_.producers_;
    if (!batch.is_control()) {
      producers.update(batch);
      return;
    }
    record::RecordReader reader(batch);
    record::Record record;
    const auto some = reader.next(record);
    if (!some || !*some) return;
    const auto marker = record::parse_end_transaction_marker(record);
    if (!marker) return;
    const auto completed = producers.end_transaction(batch.producer_id(), batch.producer_epoch(), *marker, batch.base_offset(), record.timestamp);
    if (completed && completed->aborted && aborted)
      aborted->push_back({completed->producer_id, completed->first_offset, completed->last_offset, producers.last_stable_offset_after(*completed)});
  }

  // Puts the newest readable snapshot with an offset <= limit into producers_ and answers its offset, or the first offset of the log.
  Result<int64_t> load_snapshot(int64_t limit) {
    log_.producers_.clear();
    TRY(const auto entries, log_.files_.list(log_.directory_));
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      const auto offset = parse_segment_file_name(entry->name);
      if (!offset || *offset > limit || entry->name != segment_file_name(*offset, snapshot_suffix)) continue;
      if (*offset < log_.segments_.begin()->first) continue;
      TRY(const Bytes bytes, log_.files_.read_file(log_.path(entry->name), uint64_t{1} << 30));
      const auto decoded = log_.producers_.decode_snapshot(bytes, options_.now.milliseconds, log_.config_.producer_id_expiration_ms);
      if (decoded) return *offset;
      log_.producers_.clear();
      log_.notice(Notice::Level::warning, fmt::format("{}: {}; it is removed, the producers' states come from the log", log_.path(entry->name), decoded.error().message));
      TRY_VOID(log_.files_.remove(log_.path(entry->name)));
    }
    return log_.segments_.begin()->first;
  }

  Result<void> finish_producers() {
    if (options_.clean_shutdown) TRY_VOID(log_.load_producers(options_.now));
    log_.producers_.expire(options_.now.milliseconds, log_.config_.producer_id_expiration_ms);
    log_.producers_.on_high_watermark(log_.high_watermark_);
    // Snapshots that belong to no segment go, but for the newest.
    const int64_t end = log_.log_end_offset_;
    TRY_VOID(log_.remove_producer_snapshots([&](int64_t at) { return at > end || (at < end && !log_.segments_.contains(at)); }));
    return {};
  }

  friend class Log;

  Log& log_;
  OpenOptions options_;
  int64_t scan_from_ = INT64_MAX;
  bool epochs_changed_ = false;
  bool cut_ = false;
  int64_t producers_at_ = 0;
  std::vector<int64_t> damage_;  // the segment of each of bad_
  std::vector<BadBytes> bad_;
};

Result<std::unique_ptr<Log>> Log::open(io::FileSystem& files, std::string directory, const LogConfig& config, const OpenOptions& options) {
  std::unique_ptr<Log> log(new Log(files, std::move(directory), config));
  TRY_VOID(Recovery(*log, options).run());
  return log;
}

Result<void> Log::load_producers(WallTime now) {
  const OpenOptions options{.now = now};
  Recovery recovery(*this, options);
  TRY(const int64_t at, recovery.load_snapshot(log_end_offset_));
  for (auto segment = segment_holding(at); segment != segments_.end(); ++segment) TRY_VOID(recovery.replay_segment(segment, at));
  return {};
}

}  // namespace castellan::log

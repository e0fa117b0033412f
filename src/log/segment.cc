// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/segment.h"

#include <charconv>

#include "base/check.h"

namespace castellan::log {
namespace {

constexpr std::string_view all_suffixes[] = {log_suffix, index_suffix, time_index_suffix, transaction_index_suffix};

}  // namespace

std::string segment_file_name(int64_t base_offset, std::string_view suffix) { return fmt::format("{:020}{}", base_offset, suffix); }

std::optional<int64_t> parse_segment_file_name(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot != 20) return std::nullopt;
  int64_t offset = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + dot, offset);
  if (error != std::errc() || end != name.data() + dot || offset < 0) return std::nullopt;
  return offset;
}

// --- ranges

void ByteRanges::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  if (!ranges_.empty() && ranges_.back().second == begin) {  // the usual case: an append
    ranges_.back().second = end;
    return;
  }
  auto at = std::ranges::lower_bound(ranges_, begin, {}, &std::pair<uint64_t, uint64_t>::second);
  const auto first = at;
  while (at != ranges_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    ++at;
  }
  at = ranges_.erase(first, at);
  ranges_.insert(at, {begin, end});
}

void ByteRanges::truncate(uint64_t end) {
  while (!ranges_.empty() && ranges_.back().first >= end) ranges_.pop_back();
  if (!ranges_.empty()) ranges_.back().second = std::min(ranges_.back().second, end);
}

uint64_t ByteRanges::first_gap(uint64_t begin) const {
  for (const auto& [first, end] : ranges_)
    if (first <= begin && begin < end) return end;
  return begin;
}

uint64_t ByteRanges::gap_end(uint64_t begin, uint64_t limit) const {
  for (const auto& [first, end] : ranges_)
    if (first >= begin) return std::min(first, limit);
  return limit;
}

bool ByteRanges::cover(uint64_t begin, uint64_t end) const { return begin >= end || first_gap(begin) >= end; }

// --- open

Segment::Segment(io::FileSystem& files, std::string directory, int64_t base_offset, std::string extra_suffix, int64_t now_ms)
    : files_(files), directory_(std::move(directory)), base_offset_(base_offset), extra_suffix_(std::move(extra_suffix)), path_(path_of(log_suffix)),
      created_ms_(now_ms), offset_index_(files, path_of(index_suffix), base_offset), time_index_(files, path_of(time_index_suffix), base_offset) {
  largest_.offset = base_offset;
}

std::string Segment::path_of(std::string_view suffix) const { return io::join(directory_, segment_file_name(base_offset_, suffix) + extra_suffix_); }

Result<std::shared_ptr<Segment>> Segment::open(io::FileSystem& files, std::string directory, int64_t base_offset, bool create, int64_t now_ms,
                                               std::string extra_suffix) {
  std::shared_ptr<Segment> segment(new Segment(files, std::move(directory), base_offset, std::move(extra_suffix), now_ms));
  TRY(segment->file_, files.open(segment->path_, create ? io::OpenMode::create : io::OpenMode::read_write));
  TRY(segment->size_, segment->file_->size());
  if (!create) segment->file_.reset();  // of old segments there may be thousands: opened again when they are read
  if (segment->size_ == 0) segment->largest_known_ = segment->indexes_checked_ = true;
  return segment;
}

Result<std::shared_ptr<io::File>> Segment::file() {
  if (!file_) {
    TRY(file_, files_.open(path_, io::OpenMode::read_write));
  }
  return file_;
}

// --- append

Result<void> Segment::append(BytesView bytes, std::span<const BatchPlace> batches, int32_t index_interval_bytes) {
  TRY(const auto log, file());
  if (auto written = log->write_at(size_, bytes); !written) {
    // Part of it may be in the file. Gone, it never was.
    if (!log->truncate(size_)) broken_ = true;
    return written;
  }
  for (BatchPlace batch : batches) {
    batch.position = size_;
    TRY_VOID(index_batch(batch, index_interval_bytes));
    size_ += batch.size;
    if (recent_.size() < recent_kept) recent_.push_back(batch);
    else recent_[recent_next_] = batch;
    recent_next_ = (recent_next_ + 1) % recent_kept;
  }
  verified_.add(size_ - bytes.size(), size_);
  return {};
}

Result<void> Segment::begin_rebuild() {
  TRY_VOID(offset_index_.file().truncate(0));
  TRY_VOID(time_index_.file().truncate(0));
  bytes_since_index_entry_ = 0;
  largest_ = {-1, base_offset_};
  largest_known_ = indexes_checked_ = true;
  first_timestamp_.reset();
  recent_.clear();
  recent_next_ = 0;
  found_.fill({});
  return {};
}

Result<void> Segment::index_batch(const BatchPlace& batch, int32_t index_interval_bytes) {
  if (batch.max_timestamp > largest_.timestamp) largest_ = {batch.max_timestamp, batch.last_offset};
  largest_known_ = true;
  if (batch.position == 0) first_timestamp_ = batch.max_timestamp;
  if (bytes_since_index_entry_ > index_interval_bytes) {
    TRY_VOID(offset_index_.append(batch.last_offset, batch.position));
    TRY_VOID(time_index_.maybe_append(largest_.timestamp, largest_.offset));
    bytes_since_index_entry_ = 0;
  }
  bytes_since_index_entry_ += batch.size;
  return {};
}

Result<bool> Segment::indexes_full(int32_t segment_index_bytes) {
  TRY(const size_t offsets, offset_index_.file().count());
  TRY(const size_t times, time_index_.file().count());
  const auto limit = static_cast<size_t>(segment_index_bytes);
  // One entry of the time index is kept for the last one, which is written when the segment is sealed.
  return offsets >= limit / OffsetIndex::entry_size || times + 1 >= limit / TimeIndex::entry_size;
}

Result<int64_t> Segment::first_timestamp() {
  if (!first_timestamp_ && size_ > 0) {
    TRY(const auto log, file());
    SegmentScanner scanner = scan(*log, 0, ScanDepth::headers);
    TRY(const auto first, scanner.next());
    if (first && scanner.position() == 0) first_timestamp_ = first->max_timestamp();
  }
  return first_timestamp_.value_or(record::no_timestamp);
}

Result<TimeIndex::Entry> Segment::largest() {
  if (!largest_known_) {
    TRY_VOID(sane_indexes());
    TRY(largest_, time_index_.last());
    largest_known_ = true;
  }
  return largest_;
}

Result<int64_t> Segment::load_largest_timestamp() {
  TRY(const TimeIndex::Entry entry, largest());
  return entry.timestamp;
}

Result<void> Segment::seal() {
  TRY(const TimeIndex::Entry entry, largest());
  if (entry.timestamp >= 0) TRY_VOID(time_index_.maybe_append(entry.timestamp, entry.offset));
  TRY_VOID(offset_index_.file().seal());
  return time_index_.file().seal();
}

// --- find

// An index that was damaged while nobody wrote it is made anew, once, before it is first used.
Result<void> Segment::sane_indexes() {
  if (indexes_checked_) return {};
  TRY(const bool offsets, offset_index_.sane(size_));
  TRY(const bool times, time_index_.sane());
  TRY(const size_t time_entries, time_index_.file().count());
  if (offsets && times && time_entries > 0) {
    indexes_checked_ = true;
    return {};
  }
  TRY_VOID(begin_rebuild());
  TRY(const auto log, file());
  SegmentScanner scanner = scan(*log, 0, ScanDepth::headers);
  for (;;) {
    TRY(const auto batch, scanner.next());
    if (!batch) break;
    TRY_VOID(index_batch({scanner.position(), static_cast<uint32_t>(batch->size()), batch->base_offset(), batch->last_offset(), batch->max_timestamp()}, 4096));
  }
  return seal();
}

Result<std::optional<BatchPlace>> Segment::find(int64_t offset, std::vector<BadBytes>& bad) {
  // At the tail, from memory: the oldest kept batch that reaches the offset, when the one before it does not.
  if (!recent_.empty()) {
    const size_t count = recent_.size();
    const size_t oldest = count < recent_kept ? 0 : recent_next_;
    const auto nth = [&](size_t i) -> const BatchPlace& { return recent_[(oldest + i) % count]; };
    if (offset > nth(count - 1).last_offset) return std::nullopt;
    if (offset >= nth(0).base_offset || nth(0).position == 0) {
      size_t low = 0, high = count - 1;
      while (low < high) {
        const size_t middle = (low + high) / 2;
        if (nth(middle).last_offset < offset) low = middle + 1;
        else high = middle;
      }
      return nth(low);
    }
  }
  BatchPlace* before = nullptr;
  for (BatchPlace& place : found_) {
    if (place.size == 0) continue;
    if (place.base_offset <= offset && offset <= place.last_offset) return place;
    if (place.last_offset + 1 == offset) before = &place;
  }
  uint64_t position = 0;
  if (before != nullptr) {
    position = before->position + before->size;
  } else {
    TRY_VOID(sane_indexes());
    TRY(const OffsetIndex::Entry start, offset_index_.find(offset));
    position = start.position;
  }
  TRY(const auto place, walk(position, bad, [offset](const record::BatchView& batch) { return batch.last_offset() >= offset; }));
  if (place) {
    if (before == nullptr) {
      before = &found_[found_next_];
      found_next_ = (found_next_ + 1) % found_.size();
    }
    *before = *place;
  }
  return place;
}

Result<std::optional<BatchPlace>> Segment::find_timestamp(int64_t timestamp, int64_t from_offset, std::vector<BadBytes>& bad) {
  TRY_VOID(sane_indexes());
  TRY(const TimeIndex::Entry time_entry, time_index_.find(timestamp - 1));
  TRY(const OffsetIndex::Entry start, offset_index_.find(std::max(time_entry.offset, from_offset)));
  return walk(start.position, bad,
              [&](const record::BatchView& batch) { return batch.max_timestamp() >= timestamp && batch.last_offset() >= from_offset; });
}

Result<std::optional<BatchPlace>> Segment::walk(uint64_t position, std::vector<BadBytes>& bad, const std::function<bool(const record::BatchView&)>& wanted) {
  TRY(const auto log, file());
  SegmentScanner scanner = scan(*log, position, ScanDepth::headers);
  std::optional<BatchPlace> place;
  while (!place) {
    TRY(const auto batch, scanner.next());
    if (!batch) break;
    if (wanted(*batch))
      place = BatchPlace{scanner.position(), static_cast<uint32_t>(batch->size()), batch->base_offset(), batch->last_offset(), batch->max_timestamp()};
  }
  bad.insert(bad.end(), scanner.bad().begin(), scanner.bad().end());
  return place;
}

Result<std::optional<OffsetIndex::Entry>> Segment::index_entry_from(uint64_t position) {
  TRY_VOID(sane_indexes());
  return offset_index_.entry_from(position);
}

Result<void> Segment::append_aborted(const AbortedTransaction& entry) {
  TRY_VOID(aborted());
  TRY_VOID(TransactionIndex::append(files_, path_of(transaction_index_suffix), entry));
  aborted_->push_back(entry);
  return {};
}

Result<void> Segment::write_aborted(std::vector<AbortedTransaction> entries) {
  TRY_VOID(TransactionIndex::write(files_, path_of(transaction_index_suffix), entries));
  aborted_ = std::move(entries);
  return {};
}

Result<const std::vector<AbortedTransaction>*> Segment::aborted() {
  if (!aborted_) {
    TRY(aborted_, TransactionIndex::read(files_, path_of(transaction_index_suffix)));
  }
  return &*aborted_;
}

// --- shape

Result<std::optional<OffsetIndex::Entry>> Segment::trusted_index_end() {
  TRY(const bool offsets, offset_index_.sane(size_));
  TRY(const bool times, time_index_.sane());
  if (!offsets || !times) return std::nullopt;
  indexes_checked_ = true;
  TRY(largest_, time_index_.last());
  largest_known_ = true;
  TRY(const auto last, offset_index_.last());
  return last.value_or(OffsetIndex::Entry{base_offset_ - 1, 0});
}

Result<void> Segment::truncate(uint64_t position, int64_t offset) {
  TRY_VOID(sane_indexes());
  TRY(const auto log, file());
  TRY_VOID(offset_index_.truncate_to(offset));
  TRY_VOID(time_index_.truncate_to(offset));
  TRY_VOID(log->truncate(position));
  size_ = position;
  verified_.truncate(position);
  recent_.clear();
  recent_next_ = 0;
  found_.fill({});
  if (position == 0) first_timestamp_.reset();
  bytes_since_index_entry_ = 0;
  // The time index knows the largest timestamp up to its last entry; the rest is walked.
  TRY(largest_, time_index_.last());
  largest_known_ = true;
  TRY(const auto last_entry, offset_index_.last());
  const uint64_t from = last_entry ? last_entry->position : 0;
  SegmentScanner scanner = scan(*log, from, ScanDepth::headers);
  for (;;) {
    TRY(const auto batch, scanner.next());
    if (!batch) break;
    if (batch->max_timestamp() > largest_.timestamp) largest_ = {batch->max_timestamp(), batch->last_offset()};
  }
  bytes_since_index_entry_ = static_cast<int64_t>(size_ - from);
  return {};
}

Result<void> Segment::change_suffix(std::string_view to) {
  std::string from_suffix = std::exchange(extra_suffix_, std::string(to));
  for (const std::string_view suffix : all_suffixes) {
    const std::string from = io::join(directory_, segment_file_name(base_offset_, suffix) + from_suffix);
    if (!files_.exists(from)) continue;
    TRY_VOID(files_.rename(from, path_of(suffix)));
  }
  path_ = path_of(log_suffix);
  offset_index_.file().rename(path_of(index_suffix));
  time_index_.file().rename(path_of(time_index_suffix));
  return {};
}

std::vector<std::string> Segment::existing_paths() const {
  std::vector<std::string> paths;
  for (const std::string_view suffix : all_suffixes)
    if (files_.exists(path_of(suffix))) paths.push_back(path_of(suffix));
  return paths;
}

Result<void> Segment::files_to_sync(std::vector<std::shared_ptr<io::File>>& to, bool indexes) {
  TRY(const auto log, file());
  to.push_back(log);
  if (!indexes) return {};
  for (IndexFile* index : {&offset_index_.file(), &time_index_.file()}) {
    TRY(auto written, index->file_to_sync());
    if (written) to.push_back(std::move(written));
  }
  if (files_.exists(path_of(transaction_index_suffix))) {
    TRY(std::shared_ptr<io::File> transactions, files_.open(path_of(transaction_index_suffix), io::OpenMode::read_write));
    to.push_back(std::move(transactions));
  }
  return {};
}

}  // namespace castellan::log

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Reading, looking up by time, and what must be checked before bytes leave.

#include "base/check.h"
#include "log/log.h"
#include "log/segment.h"
#include "record/old_format.h"
#include "record/reader.h"

namespace castellan::log {

Result<Bytes> FetchData::load() const {
  Bytes bytes(length);
  if (length == 0) return bytes;
  TRY(const size_t got, file->read_at(position, bytes));
  bytes.resize(got);
  return bytes;
}

std::string DamagedRange::text() const {
  return fmt::format("{} is damaged at byte {} ({} bytes, offsets {} to {}): {}", file, position, length, first_offset, end_offset - 1, reason);
}

std::unexpected<Error> Log::damaged(const DamagedRange& range, int64_t offset) const {
  return fail(ErrorCode::CORRUPT_MESSAGE, "offset {} cannot be read: {}", offset, range.text());
}

const DamagedRange* Log::damage_holding(int64_t offset) const {
  for (const DamagedRange& range : damaged_)
    if (range.first_offset <= offset && offset < range.end_offset) return &range;
  return nullptr;
}

void Log::add_damage(SegmentMap::const_iterator segment, const BadBytes& bad) {
  const std::string& file = segment->second->path();
  for (const DamagedRange& known : damaged_)
    if (known.file == file && known.position <= bad.position && bad.position < known.position + known.length) return;
  // A scan that began right at the damage does not know which offset came before it: one from the segment's start does.
  int64_t first_offset = bad.next_offset;
  if (const auto log = segment->second->file()) {
    SegmentScanner scanner(**log, 0, bad.position, segment->first, segment->first, end_of(segment), ScanDepth::headers);
    for (auto batch = scanner.next(); batch && *batch; batch = scanner.next()) first_offset = std::max(first_offset, scanner.next_offset());
  }
  DamagedRange range{.first_offset = first_offset,
                     .end_offset = bad.good_follows ? bad.resumed_offset : end_of(segment),
                     .file = file,
                     .position = bad.position,
                     .length = bad.end - bad.position,
                     .reason = bad.reason};
  segment->second->verified().add(bad.position, bad.end);  // known, though not good
  notice(Notice::Level::error, range.text() + "; it is served up to there and behind it, its records there are lost");
  const auto at = std::ranges::upper_bound(damaged_, range.first_offset, {}, &DamagedRange::first_offset);
  damaged_.insert(at, std::move(range));
}

Result<uint64_t> Log::sendable_end(SegmentMap::iterator segment, const BatchPlace& place, uint64_t end) {
  Segment& bytes = *segment->second;
  if (!bytes.verified().cover(place.position, end)) {
    TRY(const auto file, bytes.file());
    SegmentScanner scanner = bytes.scan(*file, place.position, ScanDepth::checksums);
    while (scanner.end_position() < end) {
      TRY(const auto batch, scanner.next());
      if (!batch) break;
      bytes.verified().add(scanner.position(), scanner.end_position());
    }
    for (const BadBytes& bad : scanner.bad()) add_damage(segment, bad);
  }
  for (const DamagedRange& range : damaged_)
    if (range.file == bytes.path() && range.position < end && range.position + range.length > place.position) end = std::max(range.position, place.position);
  return end;
}

Result<FetchData> Log::read(int64_t offset, uint32_t max_bytes, int64_t limit, bool min_one_batch) {
  if (offset < log_start_offset_ || offset > log_end_offset_)
    return fail(ErrorCode::OFFSET_OUT_OF_RANGE, "offset {} is not within the log's {} to {}", offset, log_start_offset_, log_end_offset_);
  limit = std::min(limit, log_end_offset_);
  FetchData data;
  if (offset >= limit) return data;

  for (auto segment = segment_holding(offset); segment != segments_.end() && segment->first < limit; ++segment) {
    Segment& bytes = *segment->second;
    std::vector<BadBytes> bad;
    TRY(const auto place, bytes.find(offset, bad));
    for (const BadBytes& range : bad) add_damage(segment, range);
    if (const DamagedRange* range = damage_holding(offset)) return damaged(*range, offset);
    if (!place) continue;  // compacted away: the next segment has what follows
    if (place->base_offset >= limit) return data;

    uint64_t end = bytes.size();
    if (limit < end_of(segment)) {
      std::vector<BadBytes> ignored;
      TRY(const auto beyond, bytes.find(limit, ignored));
      if (beyond) end = beyond->position;
    }
    data.segment_base_offset = bytes.base_offset();
    if (place->size > max_bytes && !min_one_batch) {
      data.first_batch_too_large = true;
      return data;
    }
    const uint64_t most = std::max<uint64_t>(max_bytes, min_one_batch ? place->size : 0);
    end = std::min(end, place->position + most);
    TRY(end, sendable_end(segment, *place, end));
    if (end == place->position) {
      if (const DamagedRange* range = damage_holding(std::max(offset, place->base_offset))) return damaged(*range, offset);
      return fail(ErrorCode::CORRUPT_MESSAGE, "{} cannot be read at byte {}", bytes.path(), place->position);
    }
    TRY(data.file, bytes.file());
    data.position = place->position;
    data.length = static_cast<uint32_t>(end - place->position);
    return data;
  }
  return data;
}

// --- transactions

Result<std::vector<AbortedTransaction>> Log::aborted_transactions(int64_t offset, const FetchData& data) {
  std::vector<AbortedTransaction> result;
  if (data.length == 0) return result;
  const auto first = segments_.find(data.segment_base_offset);
  if (first == segments_.end()) return result;  // deleted since: the next fetch starts elsewhere
  // The first offset that the data may not hold, from the index; an offset too high costs a few entries that the client ignores.
  int64_t upper_bound = end_of(first);
  const uint64_t data_end = data.position + data.length;
  if (data_end < first->second->size()) {
    TRY(const auto entry, first->second->index_entry_from(data_end));
    if (entry) upper_bound = std::min(upper_bound, entry->offset + 1);
  }
  for (auto segment = first; segment != segments_.end(); ++segment) {
    TRY(const auto* entries, segment->second->aborted());
    for (const AbortedTransaction& entry : *entries) {
      if (entry.last_offset >= offset && entry.first_offset < upper_bound) result.push_back(entry);
      if (entry.last_stable_offset >= upper_bound) return result;
    }
  }
  return result;
}

// --- time

Result<Bytes> Log::load_batch(SegmentMap::iterator segment, const BatchPlace& place) {
  TRY(const uint64_t end, sendable_end(segment, place, place.position + place.size));
  if (end < place.position + place.size) {
    if (const DamagedRange* range = damage_holding(place.base_offset)) return damaged(*range, place.base_offset);
    return fail(ErrorCode::CORRUPT_MESSAGE, "{} cannot be read at byte {}", segment->second->path(), place.position);
  }
  TRY(const auto file, segment->second->file());
  Bytes bytes(place.size);
  TRY(const size_t got, file->read_at(place.position, bytes));
  if (got < bytes.size()) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{} became shorter while it was in use", segment->second->path());
  return bytes;
}

Result<std::optional<TimestampOffset>> Log::offset_for_timestamp(int64_t timestamp, int64_t limit) {
  for (auto segment = segment_holding(log_start_offset_); segment != segments_.end(); ++segment) {
    TRY(const int64_t largest, segment->second->load_largest_timestamp());
    if (largest < timestamp) continue;
    int64_t from = log_start_offset_;
    for (;;) {
      std::vector<BadBytes> bad;
      TRY(const auto place, segment->second->find_timestamp(timestamp, from, bad));
      for (const BadBytes& range : bad) add_damage(segment, range);
      if (!place) break;
      if (place->base_offset >= limit) return std::nullopt;
      TRY(const Bytes bytes, load_batch(segment, *place));
      const record::BatchView batch(bytes);
      // What a message of an old format holds stays closed: it counts as a whole.
      if (record::is_old(batch)) return TimestampOffset{place->max_timestamp, place->last_offset, record::no_leader_epoch};
      record::RecordReader reader(batch, record::Detail::sizes);
      record::Record record;
      for (;;) {
        TRY(const bool more, reader.next(record));
        if (!more) break;
        if (record.timestamp < timestamp || record.offset < log_start_offset_) continue;
        if (record.offset >= limit) return std::nullopt;
        return TimestampOffset{record.timestamp, record.offset, batch.leader_epoch()};
      }
      from = place->last_offset + 1;
    }
  }
  return std::nullopt;
}

Result<std::optional<TimestampOffset>> Log::offset_of_max_timestamp() {
  TimeIndex::Entry best;
  SegmentMap::iterator holding = segments_.end();
  for (auto segment = segment_holding(log_start_offset_); segment != segments_.end(); ++segment) {
    TRY(const TimeIndex::Entry entry, segment->second->largest());
    if (entry.timestamp <= best.timestamp) continue;
    best = entry;
    holding = segment;
  }
  if (holding == segments_.end()) return std::nullopt;
  std::vector<BadBytes> bad;
  TRY(const auto place, holding->second->find(best.offset, bad));
  for (const BadBytes& range : bad) add_damage(holding, range);
  if (!place) return std::nullopt;
  TRY(const Bytes bytes, load_batch(holding, *place));
  const record::BatchView batch(bytes);
  if (record::is_old(batch)) return TimestampOffset{place->max_timestamp, place->last_offset, record::no_leader_epoch};
  record::RecordReader reader(batch, record::Detail::sizes);
  record::Record record;
  for (;;) {
    TRY(const bool more, reader.next(record));
    if (!more) return std::nullopt;
    if (record.timestamp == batch.max_timestamp()) return TimestampOffset{record.timestamp, record.offset, batch.leader_epoch()};
  }
}

}  // namespace castellan::log

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A client that was cut off by a stop sends again what was not answered: up to five batches of a producer. A producer snapshot
// holds the last one only, so that after a start the ones before it would look like new ones out of order. They are in the log,
// near its end, and are looked up when such a batch comes: a start pays nothing for it.

#include "log/log.h"
#include "log/segment.h"

namespace castellan::log {

namespace {

// What five batches of each of many producers lie in. Further back nobody waits for an answer any more.
constexpr uint64_t look_back_bytes = 16 << 20;

}  // namespace

Result<std::optional<BatchMetadata>> Log::find_duplicate(const record::BatchView& batch) {
  if (auto known = producers_.duplicate_of(batch); known || !producers_.wants_history(batch)) return known;
  const ProducerState state = *producers_.find(batch.producer_id());
  const int64_t before = state.batches.front().first_offset();
  const size_t wanted = ProducerState::batches_kept - state.batches.size();
  std::vector<BatchMetadata> older;
  uint64_t looked = 0;
  for (auto segment = segment_holding(before);; --segment) {
    Segment& bytes = *segment->second;
    uint64_t from = 0;
    if (const uint64_t left = look_back_bytes - looked; bytes.size() > left) {
      TRY(const auto entry, bytes.index_entry_from(bytes.size() - left));
      if (entry) from = static_cast<uint64_t>(entry->position);
    }
    looked += bytes.size() - from;
    TRY(const auto file, bytes.file());
    SegmentScanner scanner = bytes.scan(*file, from, ScanDepth::headers);
    std::vector<BatchMetadata> found;
    for (;;) {
      TRY(const auto there, scanner.next());
      if (!there || there->base_offset() >= before) break;
      if (there->producer_id() != state.producer_id || there->producer_epoch() != state.epoch || there->is_control()) continue;
      found.push_back({there->last_sequence(), there->last_offset(), there->last_offset_delta(), there->max_timestamp()});
    }
    older.insert(older.begin(), found.begin(), found.end());
    if (older.size() >= wanted || segment == segments_.begin() || looked >= look_back_bytes) break;
  }
  if (older.size() > wanted) older.erase(older.begin(), older.end() - static_cast<ptrdiff_t>(wanted));
  producers_.add_history(state.producer_id, std::move(older));
  return producers_.duplicate_of(batch);
}

}  // namespace castellan::log

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/log_mirror.h"

#include <algorithm>

#include "record/batch.h"

namespace castellan::sim {

void LogMirror::wrote(BytesView batches) {
  while (batches.size() >= record::batch_header_size) {
    const record::BatchView batch(batches);
    if (batch.size() > batches.size()) return;
    if (batch.base_offset() < end()) truncate_to(batch.base_offset());
    if (entries_.empty()) start_ = batch.base_offset();
    entries_.push_back({batch.base_offset(), batch.next_offset(), batch.leader_epoch(), batch.crc(), batch.is_control(),
                        std::make_shared<const Bytes>(batches.begin(), batches.begin() + static_cast<ptrdiff_t>(batch.size()))});
    batches = batches.subspan(batch.size());
  }
}

void LogMirror::truncate_to(int64_t end) {
  while (!entries_.empty() && entries_.back().end > end) {
    entries_.pop_back();
  }
  written_seen_ = std::min(written_seen_, entries_.size());
  durable_seen_ = std::min(durable_seen_, entries_.size());
  if (entries_.empty()) start_ = std::min(start_, end);
  durable_end_ = std::min(durable_end_, this->end());
}

void LogMirror::restart_at(int64_t start) {
  entries_.clear();
  start_ = durable_end_ = start;
  written_seen_ = durable_seen_ = 0;
}

void LogMirror::synced(int64_t segment_base) {
  if (end() > segment_base) durable_end_ = end();
}

void LogMirror::reload(const io::FileSystem& files, const std::string& folder) {
  restart_at(0);
  const auto listed = files.list(folder);
  if (listed) {
    for (const auto& entry : *listed) {
      if (!entry.name.ends_with(".log")) continue;
      if (entries_.empty()) start_ = std::stoll(entry.name);
      const auto bytes = files.read_file(io::join(folder, entry.name), uint64_t{1} << 30);
      if (bytes) wrote(*bytes);
    }
  }
  durable_end_ = end();
}

std::span<const LogEntry> LogMirror::take_durable() {
  size_t until = entries_.size();
  while (until > 0 && entries_[until - 1].end > durable_end_) --until;
  return take(durable_seen_, until);
}

const LogEntry* LogMirror::at(int64_t offset) const {
  const auto found = std::ranges::upper_bound(entries_, offset, {}, &LogEntry::end);
  return found != entries_.end() && found->base <= offset ? &*found : nullptr;
}

}  // namespace castellan::sim

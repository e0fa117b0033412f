// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/leader_epochs.h"

#include "base/check.h"
#include "log/checkpoints.h"

namespace castellan::log {

std::optional<EpochEntry> LeaderEpochCache::previous(int32_t epoch) const {
  const auto at = std::ranges::lower_bound(entries_, epoch, {}, &EpochEntry::epoch);
  return at == entries_.begin() ? std::nullopt : std::optional(*std::prev(at));
}

std::optional<int32_t> LeaderEpochCache::epoch_for_offset(int64_t offset) const {
  const auto after = std::ranges::upper_bound(entries_, offset, {}, &EpochEntry::start_offset);
  return after == entries_.begin() ? std::nullopt : std::optional(std::prev(after)->epoch);
}

EpochEndOffset LeaderEpochCache::end_offset_for(int32_t epoch, int64_t log_end_offset) const {
  if (epoch < 0 || entries_.empty()) return {};
  if (epoch == entries_.back().epoch) return {epoch, log_end_offset};
  const auto higher = std::ranges::upper_bound(entries_, epoch, {}, &EpochEntry::epoch);
  if (higher == entries_.end()) return {};  // an epoch that nobody here has heard of
  // Before the first entry nothing is left: the answer says where the log begins.
  return {higher == entries_.begin() ? epoch : std::prev(higher)->epoch, higher->start_offset};
}

bool LeaderEpochCache::assign(int32_t epoch, int64_t start_offset) {
  CHECK(epoch >= 0 && start_offset >= 0, "epoch {} from offset {}", epoch, start_offset);
  if (!entries_.empty() && entries_.back().epoch == epoch && entries_.back().start_offset <= start_offset) return false;
  while (!entries_.empty() && (entries_.back().epoch >= epoch || entries_.back().start_offset >= start_offset)) entries_.pop_back();
  entries_.push_back({epoch, start_offset});
  return true;
}

bool LeaderEpochCache::truncate_from_end(int64_t end_offset) {
  const size_t before = entries_.size();
  while (!entries_.empty() && entries_.back().start_offset >= end_offset) entries_.pop_back();
  return entries_.size() != before;
}

bool LeaderEpochCache::truncate_from_start(int64_t start_offset) {
  const auto after = std::ranges::upper_bound(entries_, start_offset, {}, &EpochEntry::start_offset);
  if (after == entries_.begin()) return false;
  const auto covering = std::prev(after);
  if (covering == entries_.begin() && covering->start_offset == start_offset) return false;
  covering->start_offset = start_offset;
  entries_.erase(entries_.begin(), covering);
  return true;
}

Result<void> LeaderEpochCache::write(io::FileSystem& files, const std::string& path, bool sync) const {
  std::string text = fmt::format("0\n{}\n", entries_.size());
  for (const EpochEntry& entry : entries_) text += fmt::format("{} {}\n", entry.epoch, entry.start_offset);
  return files.replace_file(path, as_bytes(text), ".tmp", sync);
}

Result<LeaderEpochCache> LeaderEpochCache::read(const io::FileSystem& files, const std::string& path) {
  LeaderEpochCache cache;
  const auto bytes = files.read_file(path);
  if (!bytes) {
    if (io::is_not_found(bytes.error())) return cache;
    return unexpected(bytes.error());
  }
  TRY(const auto lines, checkpoint_internal::parse_lines(as_text(*bytes), path, 2));
  for (const auto& fields : lines) {
    int64_t epoch = -1, start_offset = -1;
    const bool numbers = checkpoint_internal::parse_number(fields[0], epoch) && checkpoint_internal::parse_number(fields[1], start_offset);
    if (!numbers || epoch < 0 || epoch > INT32_MAX || start_offset < 0)
      return fail(ErrorCode::CORRUPT_MESSAGE, "{} has the malformed line \"{} {}\"", path, fields[0], fields[1]);
    if (!cache.entries_.empty() && (epoch <= cache.entries_.back().epoch || start_offset <= cache.entries_.back().start_offset))
      return fail(ErrorCode::CORRUPT_MESSAGE, "{}: epoch {} from offset {} does not rise above the line before", path, epoch, start_offset);
    cache.entries_.push_back({static_cast<int32_t>(epoch), start_offset});
  }
  return cache;
}

}  // namespace castellan::log

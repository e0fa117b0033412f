// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/index_file.h"

#include "base/check.h"

namespace castellan::log {
namespace {

bool all_zero(BytesView bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

}  // namespace

Result<void> IndexFile::open_file() {
  if (file_) return {};
  TRY(file_, files_.open(path_, io::OpenMode::create));
  return {};
}

Result<std::shared_ptr<io::File>> IndexFile::file_to_sync() {
  TRY_VOID(write_tail());
  if (!std::exchange(unsynced_, false)) return nullptr;
  return file_;
}

Result<void> IndexFile::load() {
  if (loaded_) return {};
  if (files_.exists(path_)) {
    TRY_VOID(open_file());
    TRY(const uint64_t size, file_->size());
    in_file_ = size / entry_size_;
    file_is_longer_ = size != in_file_ * entry_size_;
    // Zeros behind the last entry are room that was preallocated. Entries rise, so a zero one is never in their midst.
    size_t low = 0, high = in_file_;
    Bytes entry(entry_size_);
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      TRY_VOID(file_->read_at(middle * entry_size_, entry));
      if (all_zero(entry)) high = middle;
      else low = middle + 1;
    }
    if (low != in_file_) file_is_longer_ = true;
    in_file_ = low;
  }
  loaded_ = true;
  return {};
}

Result<size_t> IndexFile::count() {
  TRY_VOID(load());
  return in_file_ + tail_.size() / entry_size_;
}

Result<void> IndexFile::append(BytesView entry) {
  CHECK(entry.size() == entry_size_);
  TRY_VOID(load());
  tail_.insert(tail_.end(), entry.begin(), entry.end());
  if (tail_.size() >= tail_limit) return write_tail();
  return {};
}

Result<void> IndexFile::get(size_t i, std::span<uint8_t> entry) {
  TRY_VOID(load());
  if (i >= in_file_) {
    const size_t at = (i - in_file_) * entry_size_;
    CHECK(at + entry_size_ <= tail_.size());
    std::copy_n(tail_.begin() + static_cast<ptrdiff_t>(at), entry_size_, entry.begin());
    return {};
  }
  TRY(const size_t got, file_->read_at(i * entry_size_, entry.first(entry_size_)));
  if (got < entry_size_) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{} became shorter while it was in use", path_);
  return {};
}

Result<size_t> IndexFile::partition_point(const std::function<bool(const uint8_t*)>& before) {
  TRY(const size_t total, count());
  size_t low = 0, high = total;
  // Down to one block by single entries, then that block in one read.
  const size_t block = tail_limit / entry_size_;
  Bytes buffer(entry_size_);
  while (high - low > block) {
    const size_t middle = low + (high - low) / 2;
    TRY_VOID(get(middle, buffer));
    if (before(buffer.data())) low = middle + 1;
    else high = middle;
  }
  buffer.resize((high - low) * entry_size_);
  const size_t from_file = low < in_file_ ? std::min(high, in_file_) - low : 0;
  if (from_file > 0) {
    TRY(const size_t got, file_->read_at(low * entry_size_, std::span(buffer).first(from_file * entry_size_)));
    if (got < from_file * entry_size_) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "{} became shorter while it was in use", path_);
  }
  if (from_file < high - low) {
    const size_t first = low + from_file - in_file_;
    std::copy_n(tail_.begin() + static_cast<ptrdiff_t>(first * entry_size_), (high - low - from_file) * entry_size_,
                buffer.begin() + static_cast<ptrdiff_t>(from_file * entry_size_));
  }
  for (const uint8_t* at = buffer.data(); low < high && before(at); at += entry_size_) ++low;
  return low;
}

Result<void> IndexFile::truncate(size_t new_count) {
  TRY(const size_t total, count());
  if (new_count >= total) return {};
  if (new_count >= in_file_) {
    tail_.resize((new_count - in_file_) * entry_size_);
    return {};
  }
  tail_.clear();
  in_file_ = new_count;
  file_is_longer_ = true;
  return write_tail();
}

Result<void> IndexFile::write_tail() {
  TRY_VOID(load());
  if (!file_is_longer_ && tail_.empty()) return {};
  TRY_VOID(open_file());
  unsynced_ = true;
  if (file_is_longer_) {
    TRY_VOID(file_->truncate(in_file_ * entry_size_));
    file_is_longer_ = false;
  }
  if (tail_.empty()) return {};
  TRY_VOID(file_->write_at(in_file_ * entry_size_, tail_));
  in_file_ += tail_.size() / entry_size_;
  tail_.clear();
  return {};
}

Result<void> IndexFile::seal() {
  if (!file_ && !files_.exists(path_)) unsynced_ = true;
  TRY_VOID(open_file());
  return write_tail();
}

Result<void> IndexFile::sync() {
  TRY(const auto file, file_to_sync());
  return file ? file->sync() : Result<void>{};
}

void IndexFile::rename(std::string path) {
  path_ = std::move(path);
}

// --- offsets

Result<void> OffsetIndex::append(int64_t offset, uint64_t position) {
  CHECK(offset >= base_offset_ && offset - base_offset_ <= INT32_MAX && position <= INT32_MAX, "offset {} at {} in an index from {}", offset, position,
        base_offset_);
  uint8_t entry[entry_size];
  store_big_endian<int32_t>(entry, static_cast<int32_t>(offset - base_offset_));
  store_big_endian<int32_t>(entry + 4, static_cast<int32_t>(position));
  return file_.append(entry);
}

Result<OffsetIndex::Entry> OffsetIndex::find(int64_t offset) {
  TRY(const size_t after, file_.partition_point([&](const uint8_t* entry) { return decode(entry).offset <= offset; }));
  if (after == 0) return Entry{base_offset_, 0};
  uint8_t entry[entry_size];
  TRY_VOID(file_.get(after - 1, entry));
  return decode(entry);
}

Result<std::optional<OffsetIndex::Entry>> OffsetIndex::entry_from(uint64_t position) {
  TRY(const size_t at, file_.partition_point([&](const uint8_t* entry) { return decode(entry).position < position; }));
  TRY(const size_t count, file_.count());
  if (at == count) return std::nullopt;
  uint8_t entry[entry_size];
  TRY_VOID(file_.get(at, entry));
  return decode(entry);
}

Result<std::optional<OffsetIndex::Entry>> OffsetIndex::last() {
  TRY(const size_t count, file_.count());
  if (count == 0) return std::nullopt;
  uint8_t entry[entry_size];
  TRY_VOID(file_.get(count - 1, entry));
  return decode(entry);
}

Result<void> OffsetIndex::truncate_to(int64_t offset) {
  TRY(const size_t kept, file_.partition_point([&](const uint8_t* entry) { return decode(entry).offset < offset; }));
  return file_.truncate(kept);
}

Result<bool> OffsetIndex::sane(uint64_t log_size) {
  TRY(const size_t count, file_.count());
  Entry before{base_offset_ - 1, 0};
  uint8_t bytes[entry_size];
  for (size_t i = 0; i < count; ++i) {
    TRY_VOID(file_.get(i, bytes));
    const Entry entry = decode(bytes);
    if (entry.offset <= before.offset || (i > 0 && entry.position <= before.position) || entry.position >= log_size) return false;
    before = entry;
  }
  return true;
}

// --- times

Result<void> TimeIndex::maybe_append(int64_t timestamp, int64_t offset) {
  TRY(const Entry before, last());
  if (timestamp <= before.timestamp || offset < before.offset) return {};
  uint8_t entry[entry_size];
  store_big_endian<int64_t>(entry, timestamp);
  store_big_endian<int32_t>(entry + 8, static_cast<int32_t>(offset - base_offset_));
  return file_.append(entry);
}

Result<TimeIndex::Entry> TimeIndex::find(int64_t timestamp) {
  TRY(const size_t after, file_.partition_point([&](const uint8_t* entry) { return decode(entry).timestamp <= timestamp; }));
  if (after == 0) return Entry{-1, base_offset_};
  uint8_t entry[entry_size];
  TRY_VOID(file_.get(after - 1, entry));
  return decode(entry);
}

Result<TimeIndex::Entry> TimeIndex::last() {
  TRY(const size_t count, file_.count());
  if (count == 0) return Entry{-1, base_offset_};
  uint8_t entry[entry_size];
  TRY_VOID(file_.get(count - 1, entry));
  return decode(entry);
}

Result<void> TimeIndex::truncate_to(int64_t offset) {
  TRY(const size_t kept, file_.partition_point([&](const uint8_t* entry) { return decode(entry).offset < offset; }));
  return file_.truncate(kept);
}

Result<bool> TimeIndex::sane() {
  TRY(const size_t count, file_.count());
  Entry before{-1, base_offset_};
  uint8_t bytes[entry_size];
  for (size_t i = 0; i < count; ++i) {
    TRY_VOID(file_.get(i, bytes));
    const Entry entry = decode(bytes);
    if (entry.timestamp <= before.timestamp || entry.offset < before.offset) return false;
    before = entry;
  }
  return true;
}

}  // namespace castellan::log

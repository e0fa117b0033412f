// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/transaction_index.h"

namespace castellan::log {
namespace {

constexpr int16_t current_version = 0;

void encode(uint8_t* to, const AbortedTransaction& entry) {
  store_big_endian<int16_t>(to, current_version);
  store_big_endian<int64_t>(to + 2, entry.producer_id);
  store_big_endian<int64_t>(to + 10, entry.first_offset);
  store_big_endian<int64_t>(to + 18, entry.last_offset);
  store_big_endian<int64_t>(to + 26, entry.last_stable_offset);
}

}  // namespace

Result<std::vector<AbortedTransaction>> TransactionIndex::read(const io::FileSystem& files, const std::string& path) {
  const auto bytes = files.read_file(path, uint64_t{1} << 30);
  if (!bytes) {
    if (io::is_not_found(bytes.error())) return std::vector<AbortedTransaction>{};
    return unexpected(bytes.error());
  }
  if (bytes->size() % aborted_transaction_size != 0)
    return fail(ErrorCode::CORRUPT_MESSAGE, "{} has {} bytes, which is no multiple of {}", path, bytes->size(), aborted_transaction_size);
  std::vector<AbortedTransaction> entries;
  for (size_t at = 0; at < bytes->size(); at += aborted_transaction_size) {
    const uint8_t* from = bytes->data() + at;
    const int16_t version = load_big_endian<int16_t>(from);
    const AbortedTransaction entry{load_big_endian<int64_t>(from + 2), load_big_endian<int64_t>(from + 10), load_big_endian<int64_t>(from + 18),
                                   load_big_endian<int64_t>(from + 26)};
    if (version != current_version) return fail(ErrorCode::CORRUPT_MESSAGE, "{} has an entry of version {} at byte {}", path, version, at);
    if (entry.first_offset < 0 || entry.last_offset < entry.first_offset || (!entries.empty() && entry.last_offset <= entries.back().last_offset))
      return fail(ErrorCode::CORRUPT_MESSAGE, "{} has an entry out of order at byte {}", path, at);
    entries.push_back(entry);
  }
  return entries;
}

Result<void> TransactionIndex::append(io::FileSystem& files, const std::string& path, const AbortedTransaction& entry) {
  TRY(const auto file, files.open(path, io::OpenMode::create));
  TRY(const uint64_t size, file->size());
  uint8_t bytes[aborted_transaction_size];
  encode(bytes, entry);
  return file->write_at(size / aborted_transaction_size * aborted_transaction_size, bytes);
}

Result<void> TransactionIndex::write(io::FileSystem& files, const std::string& path, std::span<const AbortedTransaction> entries) {
  if (entries.empty()) return files.remove(path);
  Bytes bytes(entries.size() * aborted_transaction_size);
  for (size_t i = 0; i < entries.size(); ++i) encode(bytes.data() + i * aborted_transaction_size, entries[i]);
  TRY(const auto file, files.open(path, io::OpenMode::create));
  TRY_VOID(file->truncate(0));
  return file->write_at(0, bytes);
}

}  // namespace castellan::log

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "record/old_format.h"

#include <zlib.h>

namespace castellan::record {

namespace {

// Where the fields of an old message lie, but for those that a batch has in the same place (offset, size, magic).
constexpr size_t crc_at = 12;
constexpr size_t checked_from = 16;
constexpr size_t attributes_at = 17;
constexpr size_t timestamp_at = 18;

}  // namespace

std::optional<std::array<uint8_t, batch_header_size>> old_header(BytesView bytes) {
  if (bytes.size() < old_prefix_wanted) return std::nullopt;
  std::array<uint8_t, batch_header_size> header{};
  std::ranges::copy(bytes.first(batch_prefix_size), header.begin());
  const auto magic = static_cast<int8_t>(bytes[header::magic]);
  const int64_t timestamp = magic == 0 ? no_timestamp : load_big_endian<int64_t>(bytes.data() + timestamp_at);
  store_big_endian<int32_t>(header.data() + header::leader_epoch, no_leader_epoch);
  header[header::magic] = static_cast<uint8_t>(magic);
  store_big_endian<uint32_t>(header.data() + header::crc, load_big_endian<uint32_t>(bytes.data() + crc_at));
  // The codec, and the kind of timestamp of format 1, are the same bits.
  store_big_endian<int16_t>(header.data() + header::attributes, static_cast<int16_t>(bytes[attributes_at] & (codec_mask | log_append_time_bit)));
  store_big_endian<int64_t>(header.data() + header::base_timestamp, timestamp);
  store_big_endian<int64_t>(header.data() + header::max_timestamp, timestamp);
  store_big_endian<int64_t>(header.data() + header::producer_id, no_producer_id);
  store_big_endian<int16_t>(header.data() + header::producer_epoch, no_producer_epoch);
  store_big_endian<int32_t>(header.data() + header::base_sequence, no_sequence);
  store_big_endian<int32_t>(header.data() + header::records_count, 1);
  return header;
}

bool old_checksum_valid(BytesView message) {
  const auto size = batch_prefix_size + static_cast<size_t>(load_big_endian<uint32_t>(message.data() + header::length));
  if (size < old_message_size_min || message.size() < size) return false;
  const BytesView checked = message.first(size).subspan(checked_from);
  return ::crc32(0, checked.data(), static_cast<uInt>(checked.size())) == load_big_endian<uint32_t>(message.data() + crc_at);
}

}  // namespace castellan::record

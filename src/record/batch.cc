// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "record/batch.h"

#include "base/check.h"
#include "base/crc32c.h"

namespace castellan::record {
namespace {

constexpr size_t minimum_size_after_length = 14;  // of a message of format 0; anything less is no batch of any format

uint32_t crc_of(BytesView batch) { return crc32c(batch.subspan(header::attributes)); }

template <class T>
void store(std::span<uint8_t> batch, size_t at, T value) {
  CHECK(batch.size() >= batch_header_size);
  store_big_endian<T>(batch.data() + at, value);
}

}  // namespace

std::string_view compression_name(Compression codec) {
  switch (codec) {
    case Compression::none: return "none";
    case Compression::gzip: return "gzip";
    case Compression::snappy: return "snappy";
    case Compression::lz4: return "lz4";
    case Compression::zstd: return "zstd";
  }
  return "unknown";
}

uint32_t BatchView::computed_crc() const { return crc_of(bytes_.first(std::min(size(), bytes_.size()))); }

void set_base_offset(std::span<uint8_t> batch, int64_t offset) { store(batch, header::base_offset, offset); }
void set_leader_epoch(std::span<uint8_t> batch, int32_t epoch) { store(batch, header::leader_epoch, epoch); }
void set_crc(std::span<uint8_t> batch) { store(batch, header::crc, crc_of(batch)); }

void set_timestamps(std::span<uint8_t> batch, TimestampType type, int64_t max_timestamp) {
  const BatchView view(batch);
  if (view.timestamp_type() == type && view.max_timestamp() == max_timestamp) return;
  const int16_t rest = static_cast<int16_t>(view.attributes() & ~log_append_time_bit);
  store(batch, header::attributes, static_cast<int16_t>(type == TimestampType::log_append_time ? rest | log_append_time_bit : rest));
  store(batch, header::max_timestamp, max_timestamp);
  set_crc(batch);
}

Result<BatchView> check_batch(BytesView bytes) {
  if (bytes.size() < batch_prefix_size) return fail(ErrorCode::CORRUPT_MESSAGE, "{} bytes are too few for a batch", bytes.size());
  const int32_t length = load_big_endian<int32_t>(bytes.data() + header::length);
  if (length < static_cast<int32_t>(batch_header_size - batch_prefix_size))
    return fail(ErrorCode::CORRUPT_MESSAGE, "a batch cannot have length {}", length);
  const size_t size = batch_prefix_size + static_cast<size_t>(length);
  if (bytes.size() < size) return fail(ErrorCode::CORRUPT_MESSAGE, "a batch of {} bytes ends after {}", size, bytes.size());
  const BatchView batch(bytes.first(size));
  if (batch.magic() != current_magic) return fail(ErrorCode::CORRUPT_MESSAGE, "a batch cannot have magic {}", batch.magic());
  if (!batch.crc_valid())
    return fail(ErrorCode::CORRUPT_MESSAGE, "stored checksum {:08x}, computed {:08x}", batch.crc(), batch.computed_crc());
  if (batch.base_offset() < 0 || batch.last_offset_delta() < 0 || batch.records_count() < 0)
    return fail(ErrorCode::CORRUPT_MESSAGE, "a batch cannot have base offset {}, last offset delta {} and {} records", batch.base_offset(),
                batch.last_offset_delta(), batch.records_count());
  return batch;
}

Result<std::optional<BatchView>> BatchScanner::next() {
  const BytesView left = remaining();
  if (left.size() < batch_prefix_size) return std::nullopt;
  const int32_t length = load_big_endian<int32_t>(left.data() + header::length);
  if (length < static_cast<int32_t>(minimum_size_after_length))
    return fail(ErrorCode::CORRUPT_MESSAGE, "a batch at byte {} has length {}, less than any batch can have", position_, length);
  if (left.size() <= header::magic) return std::nullopt;
  const int8_t magic = static_cast<int8_t>(left[header::magic]);
  if (magic < 0 || magic > current_magic) return fail(ErrorCode::CORRUPT_MESSAGE, "a batch at byte {} has magic {}", position_, magic);
  const size_t size = batch_prefix_size + static_cast<size_t>(length);
  if (left.size() < size) return std::nullopt;
  if (magic != current_magic)
    return fail(ErrorCode::INVALID_RECORD, "a batch at byte {} has the old magic {}; only magic 2 is supported", position_, magic);
  if (size < batch_header_size)
    return fail(ErrorCode::CORRUPT_MESSAGE, "a batch at byte {} has {} bytes, fewer than its header", position_, size);
  position_ += size;
  return BatchView(left.first(size));
}

}  // namespace castellan::record

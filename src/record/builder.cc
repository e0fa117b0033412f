// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "record/builder.h"

#include "base/check.h"
#include "base/varint.h"

namespace castellan::record {
namespace {

size_t field_size(std::optional<BytesView> field) { return field ? varint_size(zigzag32(static_cast<int32_t>(field->size()))) + field->size() : 1; }

size_t put_size(uint8_t* to, std::optional<BytesView> field) { return put_varint(to, zigzag32(field ? static_cast<int32_t>(field->size()) : -1)); }

void put_field(Bytes& out, std::optional<BytesView> field) {
  uint8_t size[10];
  out.insert(out.end(), size, size + put_size(size, field));
  if (field) out.insert(out.end(), field->begin(), field->end());
}

Bytes encode_headers(std::span<const Header> headers) {
  Bytes out;
  for (const Header& header : headers) {
    put_field(out, as_bytes(header.key));
    put_field(out, header.value);
  }
  return out;
}

size_t body_size(int64_t timestamp_delta, int32_t offset_delta, std::optional<BytesView> key, std::optional<BytesView> value, int32_t header_count,
                 size_t header_bytes) {
  return 1 + varint_size(zigzag(timestamp_delta)) + varint_size(zigzag32(offset_delta)) + field_size(key) + field_size(value) +
         varint_size(zigzag32(header_count)) + header_bytes;
}

template <class T>
void store(Bytes& batch, size_t at, T value) {
  store_big_endian<T>(batch.data() + at, value);
}

}  // namespace

BatchBuilder::BatchBuilder(const BatchOptions& options) : options_(options), out_(batch_header_size), last_offset_(options.base_offset - 1) {
  if (options.compression != Compression::none) compressor_ = make_compressor(options.compression, options.level);
}

BatchBuilder::~BatchBuilder() = default;
BatchBuilder::BatchBuilder(BatchBuilder&&) noexcept = default;

void BatchBuilder::append(int64_t timestamp, std::optional<BytesView> key, std::optional<BytesView> value, std::span<const Header> headers) {
  append_at(last_offset_ + 1, timestamp, key, value, headers);
}

void BatchBuilder::append_at(int64_t offset, int64_t timestamp, std::optional<BytesView> key, std::optional<BytesView> value, std::span<const Header> headers) {
  if (headers.empty()) return add(offset, timestamp, key, value, 0, {});
  const Bytes encoded = encode_headers(headers);
  add(offset, timestamp, key, value, static_cast<int32_t>(headers.size()), encoded);
}

void BatchBuilder::append_record(int64_t offset, const Record& record) {
  add(offset, record.timestamp, record.key, record.value, record.header_count, record.header_bytes);
}

void BatchBuilder::add(int64_t offset, int64_t timestamp, std::optional<BytesView> key, std::optional<BytesView> value, int32_t header_count,
                       BytesView header_bytes) {
  CHECK(offset > last_offset_ && offset - options_.base_offset <= INT32_MAX, "offset {} does not follow {} in a batch from {}", offset, last_offset_,
        options_.base_offset);
  if (count_ == 0) base_timestamp_ = options_.delete_horizon.value_or(timestamp);
  last_offset_ = offset;
  max_timestamp_ = std::max(max_timestamp_, timestamp);
  ++count_;
  const int64_t timestamp_delta = static_cast<int64_t>(static_cast<uint64_t>(timestamp) - static_cast<uint64_t>(base_timestamp_));
  const int32_t offset_delta = static_cast<int32_t>(offset - options_.base_offset);

  uint8_t front[40];
  size_t size = put_varint(front, zigzag32(static_cast<int32_t>(body_size(timestamp_delta, offset_delta, key, value, header_count, header_bytes.size()))));
  front[size++] = 0;  // attributes: none are defined
  size += put_varint(front + size, zigzag(timestamp_delta));
  size += put_varint(front + size, zigzag32(offset_delta));
  size += put_size(front + size, key);
  put({front, size});
  if (key) put(*key);
  size = put_size(front, value);
  put({front, size});
  if (value) put(*value);
  size = put_varint(front, zigzag32(header_count));
  put({front, size});
  put(header_bytes);
}

void BatchBuilder::put(BytesView bytes) {
  if (compressor_) {
    compressor_->write(bytes, out_);
  } else {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
}

size_t BatchBuilder::record_size(int64_t timestamp_delta, int32_t offset_delta, std::optional<BytesView> key, std::optional<BytesView> value,
                                 std::span<const Header> headers) {
  size_t header_bytes = 0;
  for (const Header& header : headers) header_bytes += field_size(as_bytes(header.key)) + field_size(header.value);
  const size_t body = body_size(timestamp_delta, offset_delta, key, value, static_cast<int32_t>(headers.size()), header_bytes);
  return varint_size(zigzag32(static_cast<int32_t>(body))) + body;
}

Bytes BatchBuilder::finish(std::optional<int64_t> last_offset) {
  if (compressor_) compressor_->finish(out_);
  int16_t attributes = static_cast<int16_t>(options_.compression);
  if (options_.log_append_time) attributes |= log_append_time_bit;
  if (options_.transactional) attributes |= transactional_bit;
  if (options_.control) attributes |= control_bit;
  if (options_.delete_horizon) attributes |= delete_horizon_bit;
  const int64_t last = last_offset.value_or(last_offset_);
  CHECK(last >= last_offset_ && last - options_.base_offset <= INT32_MAX);

  store<int64_t>(out_, header::base_offset, options_.base_offset);
  store<int32_t>(out_, header::length, static_cast<int32_t>(out_.size() - batch_prefix_size));
  store<int32_t>(out_, header::leader_epoch, options_.leader_epoch);
  out_[header::magic] = static_cast<uint8_t>(current_magic);
  store<int16_t>(out_, header::attributes, attributes);
  store<int32_t>(out_, header::last_offset_delta, static_cast<int32_t>(last - options_.base_offset));
  store<int64_t>(out_, header::base_timestamp, count_ ? base_timestamp_ : options_.delete_horizon.value_or(no_timestamp));
  store<int64_t>(out_, header::max_timestamp, options_.log_append_time.value_or(max_timestamp_));
  store<int64_t>(out_, header::producer_id, options_.producer_id);
  store<int16_t>(out_, header::producer_epoch, options_.producer_epoch);
  store<int32_t>(out_, header::base_sequence, options_.base_sequence);
  store<int32_t>(out_, header::records_count, count_);
  set_crc(out_);
  return std::move(out_);
}

Bytes empty_batch(BatchView like) {
  Bytes out(like.bytes().begin(), like.bytes().begin() + batch_header_size);
  store<int32_t>(out, header::length, static_cast<int32_t>(batch_header_size - batch_prefix_size));
  // No records, no codec; the bits that say what kind of batch it was stay.
  store<int16_t>(out, header::attributes, static_cast<int16_t>(like.attributes() & (log_append_time_bit | transactional_bit | control_bit)));
  store<int64_t>(out, header::base_timestamp, no_timestamp);
  store<int32_t>(out, header::records_count, 0);
  set_crc(out);
  return out;
}

}  // namespace castellan::record

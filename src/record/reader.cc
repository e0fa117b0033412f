// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "record/reader.h"

#include "base/varint.h"

namespace castellan::record {
namespace {

constexpr size_t first_buffer_size = 16 << 10;

template <class... Args>
std::unexpected<Error> invalid(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::INVALID_RECORD, format, std::forward<Args>(args)...);
}

}  // namespace

std::vector<Header> Record::headers() const {
  std::vector<Header> result;
  BytesView left = header_bytes;
  const auto take = [&left]() -> std::optional<BytesView> {
    uint32_t raw = 0;
    left = left.subspan(get_varint32(left, raw));
    const int64_t size = unzigzag(raw);
    if (size < 0) return std::nullopt;
    const BytesView bytes = left.first(static_cast<size_t>(size));  // the reader has checked that it is there
    left = left.subspan(bytes.size());
    return bytes;
  };
  for (int32_t i = 0; i < header_count; ++i) {
    const auto key = take();
    const auto value = take();
    result.push_back({as_text(key.value_or(BytesView{})), value});
  }
  return result;
}

RecordReader::RecordReader(BatchView batch, Detail detail, size_t record_limit)
    : batch_(batch), detail_(detail), record_limit_(record_limit), left_(batch.records_count()) {
  const BytesView payload = batch.payload();
  if (batch.codec_number() == 0) {
    at_ = payload.data();
    end_ = at_ + payload.size();
  } else if (batch.codec_number() <= static_cast<int>(Compression::zstd)) {
    more_ = make_decompressor(batch.compression(), payload);
  }
}

RecordReader::~RecordReader() = default;
RecordReader::RecordReader(RecordReader&&) noexcept = default;

Result<bool> RecordReader::need(size_t count) {
  size_t have = static_cast<size_t>(end_ - at_);
  if (have >= count) return true;
  if (!more_) return false;
  // What is left of the window moves to the front and the rest is filled up. The buffer grows as bytes really come, so that a
  // length that lies costs nothing.
  if (have) std::memmove(buffer_.data(), at_, have);
  while (have < count) {
    if (buffer_.size() == have) buffer_.resize(std::max(first_buffer_size, std::min(std::max(count, first_buffer_size), have * 2)));
    auto got = more_->read(std::span(buffer_).subspan(have));
    if (!got) return unexpected(std::move(got).error());
    if (*got == 0) break;
    have += *got;
  }
  at_ = buffer_.data();
  end_ = at_ + have;
  return have >= count;
}

Result<void> RecordReader::skip(size_t count) {
  for (;;) {
    const size_t step = std::min(count, static_cast<size_t>(end_ - at_));
    at_ += step;
    count -= step;
    if (count == 0) return {};
    TRY(const bool some, need(1));
    if (!some) return invalid("the records end inside a record");
  }
}

// A zig-zag number that lies within the `left` bytes that its record has still.
Result<int64_t> RecordReader::number(bool wide, size_t& left) {
  TRY_VOID(need(std::min<size_t>(left, wide ? 10 : 5)));  // within the record, so that views into it stay
  const BytesView window(at_, std::min(left, static_cast<size_t>(end_ - at_)));
  uint64_t value = 0;
  uint32_t narrow = 0;
  const size_t used = wide ? get_varint64(window, value) : get_varint32(window, narrow);
  if (used == 0) return invalid("found invalid record structure: a number that is cut off or too long");
  at_ += used;
  left -= used;
  return unzigzag(wide ? value : narrow);
}

Result<void> RecordReader::field(size_t& left, int32_t& size, std::optional<BytesView>* view, const char* what) {
  TRY(const int64_t claimed, number(false, left));
  size = claimed < 0 ? -1 : static_cast<int32_t>(claimed);
  if (view) view->reset();
  if (size < 0) return {};
  if (static_cast<size_t>(size) > left) return invalid("found invalid record structure: a {} of {} bytes in a record that has {} left", what, size, left);
  left -= static_cast<size_t>(size);
  if (detail_ == Detail::sizes) return skip(static_cast<size_t>(size));
  if (view) *view = BytesView(at_, static_cast<size_t>(size));
  at_ += size;
  return {};
}

Result<bool> RecordReader::next(Record& record) {
  if (batch_.codec_number() > static_cast<int>(Compression::zstd))
    return fail(ErrorCode::CORRUPT_MESSAGE, "a batch has the codec number {}, which is none", batch_.codec_number());
  if (left_ < 0) return invalid("found invalid record count {} in a batch", left_);
  if (left_ == 0) return false;
  TRY_VOID(need(5));
  uint32_t raw = 0;
  const size_t used = get_varint32(BytesView(at_, static_cast<size_t>(end_ - at_)), raw);
  if (used == 0) return invalid("incorrect declared batch size: the records end early, {} of {} are missing", left_, batch_.records_count());
  at_ += used;
  const int64_t size = unzigzag(raw);
  if (size < 0) return invalid("a record cannot have size {}", size);
  size_t left = static_cast<size_t>(size);
  if (detail_ == Detail::whole) {
    if (more_ && left > record_limit_) return fail(ErrorCode::MESSAGE_TOO_LARGE, "a record of {} bytes is larger than the {} that are read", left, record_limit_);
    TRY(const bool whole, need(left));
    if (!whole) return invalid("invalid record size: expected {} bytes, but the records end after {}", left, end_ - at_);
  }
  TRY(const bool some, need(1));
  if (!some || left == 0) return invalid("found invalid record structure: no attributes");
  ++at_;
  --left;
  TRY(const int64_t timestamp_delta, number(true, left));
  TRY(const int64_t offset_delta, number(false, left));
  record.offset_delta = static_cast<int32_t>(offset_delta);
  record.offset = batch_.base_offset() + offset_delta;
  // Wraps as Java's does: the delta is the client's.
  record.timestamp = batch_.timestamp_type() == TimestampType::log_append_time
                         ? batch_.max_timestamp()
                         : static_cast<int64_t>(static_cast<uint64_t>(batch_.base_timestamp()) + static_cast<uint64_t>(timestamp_delta));
  TRY_VOID(field(left, record.key_size, &record.key, "key"));
  TRY_VOID(field(left, record.value_size, &record.value, "value"));
  TRY(const int64_t header_count, number(false, left));
  if (header_count < 0) return invalid("found invalid number of record headers {}", header_count);
  if (static_cast<size_t>(header_count) > left)
    return invalid("found invalid number of record headers: {}, more than the {} bytes left", header_count, left);
  record.header_count = static_cast<int32_t>(header_count);
  const uint8_t* headers_begin = at_;
  for (int64_t i = 0; i < header_count; ++i) {
    int32_t length = 0;
    TRY_VOID(field(left, length, nullptr, "header key"));
    if (length < 0) return invalid("invalid negative header key size");
    TRY_VOID(field(left, length, nullptr, "header value"));
  }
  record.header_bytes = detail_ == Detail::whole ? BytesView(headers_begin, at_) : BytesView{};
  if (left != 0) return invalid("invalid record size: expected to read {} bytes, but {} of them are left over", size, left);
  --left_;
  return true;
}

Result<void> RecordReader::finish() {
  if (left_ != 0) return invalid("{} records were not read", left_);
  TRY(const bool more, need(1));
  if (more) return invalid("incorrect declared batch size: records still remaining behind the last one");
  return {};
}

}  // namespace castellan::record

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/segment_scan.h"

#include "record/old_format.h"

namespace castellan::log {
namespace {

// A look-up needs a few headers, a scan everything: each read takes more than the one before.
constexpr size_t largest_window = 256 << 10;
constexpr int16_t known_attributes = 0x7f;

}  // namespace

SegmentScanner::SegmentScanner(const io::File& file, uint64_t position, uint64_t end, int64_t base_offset, int64_t next_offset, int64_t limit_offset,
                               ScanDepth depth)
    : file_(file), end_(end), base_offset_(base_offset), next_offset_(next_offset), limit_offset_(limit_offset), depth_(depth), at_(position), batch_position_(position) {}

Result<BytesView> SegmentScanner::load(uint64_t position, size_t wanted) {
  const size_t want = std::min<uint64_t>(wanted, end_ - position);
  if (position < window_position_ || position + want > window_position_ + window_.size()) {
    window_.resize(std::min<uint64_t>(std::max(want, next_window_), end_ - position));
    next_window_ = std::min(next_window_ * 2, largest_window);
    TRY(const size_t got, file_.read_at(position, window_));
    window_.resize(got);
    window_position_ = position;
  }
  return BytesView(window_).subspan(position - window_position_);
}

Result<std::string> SegmentScanner::examine(uint64_t position, ScanDepth depth, size_t& size) {
  TRY(const BytesView front, load(position, record::batch_header_size));
  if (front.size() > record::header::magic && record::is_old_magic(static_cast<int8_t>(front[record::header::magic]))) return examine_old(position, depth, size);
  if (front.size() < record::batch_header_size) return fmt::format("{} bytes are too few for a batch", front.size());
  const record::BatchView header(front);
  const int32_t length = load_big_endian<int32_t>(front.data() + record::header::length);
  if (length < static_cast<int32_t>(record::batch_header_size - record::batch_prefix_size)) return fmt::format("a batch cannot have length {}", length);
  size = header.size();
  if (header.magic() != record::current_magic) return fmt::format("a batch cannot have magic {}", header.magic());
  if (header.base_offset() < next_offset_ || header.last_offset_delta() < 0 || header.last_offset() - base_offset_ > INT32_MAX || header.last_offset() >= limit_offset_)
    return fmt::format("a batch cannot have offsets {} to {} here, after {}", header.base_offset(), header.last_offset(), next_offset_ - 1);
  if (header.records_count() < 0 || (header.attributes() & ~known_attributes)) return "the header makes no sense";
  if (size > end_ - position) return fmt::format("a batch of {} bytes is cut off after {}", size, end_ - position);
  if (depth == ScanDepth::headers) {
    if (header.is_control()) TRY_VOID(load(position, size));
    return std::string();
  }
  TRY(const BytesView whole, load(position, size));
  if (whole.size() < size) return fmt::format("a batch of {} bytes is cut off after {}", size, whole.size());
  const record::BatchView batch(whole.first(size));
  if (!batch.crc_valid()) return fmt::format("stored checksum {:08x}, computed {:08x}", batch.crc(), batch.computed_crc());
  return std::string();
}

Result<std::string> SegmentScanner::examine_old(uint64_t position, ScanDepth depth, size_t& size) {
  TRY(const BytesView front, load(position, record::old_prefix_wanted));
  const auto length = load_big_endian<int32_t>(front.data() + record::header::length);
  if (length < static_cast<int32_t>(record::old_message_size_min - record::batch_prefix_size)) return fmt::format("a message cannot have length {}", length);
  const auto header = record::old_header(front);
  if (!header) return fmt::format("{} bytes are too few for a message", front.size());
  const record::BatchView view(*header);
  size = view.size();
  if (view.base_offset() < next_offset_ || view.base_offset() - base_offset_ > INT32_MAX || view.base_offset() >= limit_offset_)
    return fmt::format("a message of format {} cannot have offset {} here, after {}", view.magic(), view.base_offset(), next_offset_ - 1);
  if (size > end_ - position) return fmt::format("a message of {} bytes is cut off after {}", size, end_ - position);
  if (depth == ScanDepth::headers) return std::string();
  TRY(const BytesView whole, load(position, size));
  if (whole.size() < size) return fmt::format("a message of {} bytes is cut off after {}", size, whole.size());
  if (!record::old_checksum_valid(whole.first(size))) return fmt::format("a message of format {} has a wrong checksum", view.magic());
  return std::string();
}

Result<bool> SegmentScanner::contradicted(uint64_t position, size_t size) {
  const uint64_t behind = position + size;
  if (end_ - behind < record::batch_header_size) return false;
  TRY(const BytesView here, load(position, record::batch_header_size));
  const int64_t follows = record::BatchView(here).next_offset();
  uint8_t header[record::batch_header_size];
  if (behind + sizeof header <= window_position_ + window_.size()) {
    std::memcpy(header, window_.data() + (behind - window_position_), sizeof header);
  } else {
    TRY_VOID(file_.read_at(behind, header));
  }
  const record::BatchView next(header);
  if (next.magic() != record::current_magic || next.base_offset() >= follows || next.base_offset() < next_offset_) return false;
  size_t next_size = 0;
  TRY(const std::string why_not, examine(behind, ScanDepth::checksums, next_size));
  return why_not.empty();
}

record::BatchView SegmentScanner::take_old(BytesView front, size_t size) {
  saw_old_ = true;
  old_header_ = *record::old_header(front);
  batch_position_ = at_;
  at_ += size;
  const record::BatchView message(old_header_);
  next_offset_ = message.next_offset();
  return message;
}

Result<std::optional<record::BatchView>> SegmentScanner::next() {
  while (at_ < end_) {
    size_t size = 0;
    TRY(std::string reason, examine(at_, depth_, size));
    if (reason.empty()) {
      TRY(const BytesView front, load(at_, record::old_prefix_wanted));
      if (record::is_old_magic(static_cast<int8_t>(front[record::header::magic]))) return take_old(front, size);
      TRY(const bool liar, contradicted(at_, size));
      if (liar) reason = "its offsets run into those of the batch behind it";
      // Looking ahead may have moved the window.
      TRY_VOID(load(at_, depth_ == ScanDepth::checksums ? size : record::batch_header_size));
    }
    if (!reason.empty()) {
      TRY_VOID(resync(std::move(reason)));
      continue;
    }
    batch_position_ = at_;
    at_ += size;
    const size_t start = batch_position_ - window_position_;
    const record::BatchView batch(BytesView(window_).subspan(start, std::min(size, window_.size() - start)));
    next_offset_ = batch.next_offset();
    return batch;
  }
  return std::nullopt;
}

// Looks for the next place that holds a whole batch with the right checksum. Each byte could be the first of one; a look at the
// magic alone rules out nearly all.
Result<void> SegmentScanner::resync(std::string reason) {
  BadBytes bad{.position = at_, .end = end_, .next_offset = next_offset_, .reason = std::move(reason)};
  TRY(const BytesView here, load(at_, record::old_prefix_wanted));
  saw_old_ |= here.size() > record::header::magic && record::is_old_magic(static_cast<int8_t>(here[record::header::magic]));
  const size_t smallest = saw_old_ ? record::old_message_size_min : record::batch_header_size;
  // An old magic alone rules out little, zeros least of all: the length must be one, too.
  const auto may_begin = [this](const uint8_t* bytes) {
    const uint8_t magic = bytes[record::header::magic];
    if (magic == record::current_magic) return true;
    if (!saw_old_ || magic > record::current_magic) return false;
    const auto length = load_big_endian<int32_t>(bytes + record::header::length);
    return length >= static_cast<int32_t>(record::old_message_size_min - record::batch_prefix_size) && static_cast<uint64_t>(length) <= end_ - at_;
  };
  for (uint64_t candidate = at_ + 1; candidate + smallest <= end_;) {
    TRY(const BytesView bytes, load(candidate, smallest));
    if (bytes.size() < smallest) break;
    const size_t last = bytes.size() - smallest;
    size_t i = 0;
    while (i <= last && !may_begin(bytes.data() + i)) ++i;
    candidate += i;
    if (i > last) continue;
    size_t size = 0;
    TRY(const std::string why_not, examine(candidate, ScanDepth::checksums, size));
    if (why_not.empty()) {
      TRY(const BytesView good, load(candidate, smallest));
      bad.end = candidate;
      bad.good_follows = true;
      bad.resumed_offset = load_big_endian<int64_t>(good.data() + record::header::base_offset);
      break;
    }
    ++candidate;
  }
  at_ = bad.end;
  bad_.push_back(std::move(bad));
  return {};
}

}  // namespace castellan::log

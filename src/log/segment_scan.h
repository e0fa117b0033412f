// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Walks the batches of a segment's file and finds its way behind damage: after bytes that are no batch it looks for the next place
// where one begins whose checksum is right. So a tear at the end (nothing good follows) and damage in the middle (something does)
// are told apart, and nothing behind damage is lost. Messages of the formats before batches (record/old_format.h) are walked too, each
// as a batch of one record of which only the header is there.
//
//   SegmentScanner scanner(file, size, base_offset);
//   while (true) { TRY(auto batch, scanner.next()); if (!batch) break; ... scanner.position() ... }
//   for (auto& bad : scanner.bad()) ...

#pragma once

#include <array>

#include "io/file.h"
#include "record/batch.h"

namespace castellan::log {

struct BadBytes {
  uint64_t position = 0;
  uint64_t end = 0;             // where the next good batch begins, or the file ends
  bool good_follows = false;
  int64_t next_offset = 0;      // that the batch here should have had, or a later one
  int64_t resumed_offset = -1;  // of the good batch behind
  std::string reason;
};

enum class ScanDepth {
  headers,    // bodies are skipped, but for control batches; trusts lengths as long as headers make sense
  checksums,
};

class SegmentScanner {
 public:
  // From `position` to `end`; batches there begin at `next_offset` or later and end below `limit_offset`.
  SegmentScanner(const io::File& file, uint64_t position, uint64_t end, int64_t base_offset, int64_t next_offset, int64_t limit_offset, ScanDepth depth);

  // The next good batch, whole when it was checked (or is a control batch), else at least its header; valid until the next call.
  Result<std::optional<record::BatchView>> next();
  uint64_t position() const { return batch_position_; }  // of that batch
  uint64_t end_position() const { return at_; }          // behind it
  int64_t next_offset() const { return next_offset_; }
  const std::vector<BadBytes>& bad() const { return bad_; }

 private:
  // Bytes from position on: at least `wanted` or up to the end.
  Result<BytesView> load(uint64_t position, size_t wanted);
  // Why the bytes at at_ are no good batch; empty when they are one.
  Result<std::string> examine(uint64_t position, ScanDepth depth, size_t& size);
  Result<std::string> examine_old(uint64_t position, ScanDepth depth, size_t& size);
  // A base offset lies outside the checksum. One that is too high is found by the batch behind it, which does not follow.
  Result<bool> contradicted(uint64_t position, size_t size);
  Result<void> resync(std::string reason);
  record::BatchView take_old(BytesView front, size_t size);

  const io::File& file_;
  const uint64_t end_;
  const int64_t base_offset_;
  int64_t next_offset_;
  const int64_t limit_offset_;
  const ScanDepth depth_;
  uint64_t at_;
  uint64_t batch_position_;
  uint64_t window_position_ = 0;
  size_t next_window_ = 4 << 10;
  Bytes window_;
  std::vector<BadBytes> bad_;
  bool saw_old_ = false;  // then old messages are looked for behind damage, too
  std::array<uint8_t, record::batch_header_size> old_header_{};  // of the last one
};

}  // namespace castellan::log

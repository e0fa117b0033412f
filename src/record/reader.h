// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The records inside one batch, one after another, decompressed as they are read.
//
//   RecordReader reader(batch);
//   Record record;
//   while (true) {
//     TRY(const bool more, reader.next(record));
//     if (!more) break;
//     use(record.offset, record.key, record.value);
//   }
//
// Strict: a size, count or header that does not add up is INVALID_RECORD, a broken compressed stream CORRUPT_MESSAGE. Views in
// a Record point into the batch or into the reader's buffer and end with the next call.

#pragma once

#include <memory>
#include <optional>

#include "record/batch.h"
#include "record/compression.h"

namespace castellan::record {

struct Header {
  std::string_view key;
  std::optional<BytesView> value;

  friend bool operator==(const Header& a, const Header& b) {
    return a.key == b.key && a.value.has_value() == b.value.has_value() && (!a.value || std::ranges::equal(*a.value, *b.value));
  }
};

struct Record {
  int64_t offset = 0;
  int64_t timestamp = 0;      // of the batch when it has LogAppendTime
  int32_t offset_delta = 0;
  int32_t key_size = -1;      // -1 null
  int32_t value_size = -1;
  std::optional<BytesView> key;
  std::optional<BytesView> value;
  int32_t header_count = 0;
  BytesView header_bytes;     // encoded; see headers()

  std::vector<Header> headers() const;
};

// What a RecordReader hands out. `sizes` leaves key, value and headers empty and so needs no memory for them: a compressed
// batch of a few kilobytes may claim a value of two gigabytes.
enum class Detail { whole, sizes };

class RecordReader {
 public:
  // A record larger than this, when read whole, is MESSAGE_TOO_LARGE.
  static constexpr size_t default_record_limit = 128 << 20;

  explicit RecordReader(BatchView batch, Detail detail = Detail::whole, size_t record_limit = default_record_limit);
  ~RecordReader();
  RecordReader(RecordReader&&) noexcept;

  // True and the next record, or false after the last one that the header counts. After that, finish() says whether
  // anything lies behind it.
  Result<bool> next(Record& record);
  Result<void> finish();

 private:
  Result<bool> need(size_t count);          // count bytes are in the window; false at the end of the stream
  Result<void> skip(size_t count);
  Result<int64_t> number(bool wide, size_t& left);
  Result<void> field(size_t& left, int32_t& size, std::optional<BytesView>* view, const char* what);

  BatchView batch_;
  Detail detail_;
  size_t record_limit_;
  int32_t left_;                            // records that the header counts and next() has not handed out
  const uint8_t* at_ = nullptr;             // the window: bytes of the stream that are in memory
  const uint8_t* end_ = nullptr;
  std::unique_ptr<Decompressor> more_;      // what comes behind the window; none when uncompressed
  Bytes buffer_;
};

}  // namespace castellan::record

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Record batches of format 2 as bytes: a view of the header, the fields a broker sets in place, and a scanner that walks
// batches lying back to back. The format is described in doc/formats/record-batch.md (KIP-98, KIP-32).
//
//   BatchScanner scanner(bytes);
//   while (true) {
//     TRY(auto batch, scanner.next());
//     if (!batch) break;
//     use(batch->base_offset(), batch->records_count());
//   }
//
// Views do not own: the bytes must outlive them. Offsets count records, sizes and positions count bytes, timestamps are
// milliseconds since 1970. Nothing here allocates. The records inside a batch are record/reader.h's business.

#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/result.h"

namespace castellan::record {

enum class Compression : uint8_t { none = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4 };
enum class TimestampType : uint8_t { create_time = 0, log_append_time = 1 };

// "none", "gzip", "snappy", "lz4", "zstd", as the dump tool and compression.type spell them.
std::string_view compression_name(Compression codec);

// Where each header field lies. These numbers are on disk and on the wire.
namespace header {
inline constexpr size_t base_offset = 0;           // int64
inline constexpr size_t length = 8;                // int32, bytes after this field
inline constexpr size_t leader_epoch = 12;         // int32
inline constexpr size_t magic = 16;                // int8
inline constexpr size_t crc = 17;                  // uint32, CRC-32C of everything from `attributes` on
inline constexpr size_t attributes = 21;           // int16
inline constexpr size_t last_offset_delta = 23;    // int32
inline constexpr size_t base_timestamp = 27;       // int64
inline constexpr size_t max_timestamp = 35;        // int64
inline constexpr size_t producer_id = 43;          // int64
inline constexpr size_t producer_epoch = 51;       // int16
inline constexpr size_t base_sequence = 53;        // int32
inline constexpr size_t records_count = 57;        // int32
}  // namespace header

inline constexpr size_t batch_prefix_size = 12;  // base offset and length: enough to step to the next batch
inline constexpr size_t batch_header_size = 61;  // where the records begin
inline constexpr int8_t current_magic = 2;

inline constexpr int64_t no_timestamp = -1;
inline constexpr int64_t no_producer_id = -1;
inline constexpr int16_t no_producer_epoch = -1;
inline constexpr int32_t no_sequence = -1;
inline constexpr int32_t no_leader_epoch = -1;

// Bits of the attributes field.
inline constexpr int16_t codec_mask = 0x07;
inline constexpr int16_t log_append_time_bit = 0x08;
inline constexpr int16_t transactional_bit = 0x10;
inline constexpr int16_t control_bit = 0x20;
inline constexpr int16_t delete_horizon_bit = 0x40;

// Sequence numbers wrap from 2^31-1 to 0.
inline int32_t sequence_plus(int32_t sequence, int32_t count) {
  return static_cast<int32_t>((static_cast<int64_t>(sequence) + count) & 0x7fffffff);
}

class BatchView {
 public:
  // `bytes` begins with a whole header. It may end before the batch does when only the header is of interest.
  explicit BatchView(BytesView bytes) : bytes_(bytes) {}

  int64_t base_offset() const { return load<int64_t>(header::base_offset); }
  int64_t last_offset() const { return base_offset() + last_offset_delta(); }
  int64_t next_offset() const { return last_offset() + 1; }
  size_t size() const { return batch_prefix_size + static_cast<uint32_t>(load<int32_t>(header::length)); }
  int32_t leader_epoch() const { return load<int32_t>(header::leader_epoch); }
  int8_t magic() const { return static_cast<int8_t>(bytes_[header::magic]); }
  uint32_t crc() const { return load<uint32_t>(header::crc); }
  int16_t attributes() const { return load<int16_t>(header::attributes); }
  int32_t last_offset_delta() const { return load<int32_t>(header::last_offset_delta); }
  int64_t base_timestamp() const { return load<int64_t>(header::base_timestamp); }
  int64_t max_timestamp() const { return load<int64_t>(header::max_timestamp); }
  int64_t producer_id() const { return load<int64_t>(header::producer_id); }
  int16_t producer_epoch() const { return load<int16_t>(header::producer_epoch); }
  int32_t base_sequence() const { return load<int32_t>(header::base_sequence); }
  int32_t last_sequence() const {
    return base_sequence() == no_sequence ? no_sequence : sequence_plus(base_sequence(), last_offset_delta());
  }
  int32_t records_count() const { return load<int32_t>(header::records_count); }

  // The codec number as it stands; 5 to 7 name no codec.
  int codec_number() const { return attributes() & codec_mask; }
  Compression compression() const { return static_cast<Compression>(codec_number()); }
  TimestampType timestamp_type() const {
    return attributes() & log_append_time_bit ? TimestampType::log_append_time : TimestampType::create_time;
  }
  bool is_transactional() const { return attributes() & transactional_bit; }
  bool is_control() const { return attributes() & control_bit; }
  bool has_producer_id() const { return producer_id() > no_producer_id; }
  // Set by compaction: when tombstones and markers of this batch may go. Lies in the base timestamp's place.
  std::optional<int64_t> delete_horizon() const {
    return attributes() & delete_horizon_bit ? std::optional(base_timestamp()) : std::nullopt;
  }

  BytesView bytes() const { return bytes_; }
  BytesView payload() const { return bytes_.subspan(batch_header_size); }  // the records, perhaps compressed

  uint32_t computed_crc() const;
  bool crc_valid() const { return crc() == computed_crc(); }

 private:
  template <class T>
  T load(size_t at) const { return load_big_endian<T>(bytes_.data() + at); }

  BytesView bytes_;
};

// Fields that a leader sets in a batch that is not its own. Base offset and leader epoch lie outside the checksum.
void set_base_offset(std::span<uint8_t> batch, int64_t offset);
void set_leader_epoch(std::span<uint8_t> batch, int32_t epoch);
// The kind of timestamps and the largest one; the checksum is made anew when that changes something.
void set_timestamps(std::span<uint8_t> batch, TimestampType type, int64_t max_timestamp);
// The checksum of what the batch holds now.
void set_crc(std::span<uint8_t> batch);

// Checks that `bytes` begin with one whole batch of format 2 with a right checksum, and nothing impossible in its header.
Result<BatchView> check_batch(BytesView bytes);

// Walks batches. Ends at the end of the bytes or before a batch that is cut off there (as a Fetch answer's last one may be);
// `remaining` tells the two apart. A length or magic that cannot be is an error. Checksums are not looked at.
class BatchScanner {
 public:
  explicit BatchScanner(BytesView bytes) : bytes_(bytes) {}

  Result<std::optional<BatchView>> next();
  // Bytes from here on; position() bytes lie before.
  BytesView remaining() const { return bytes_.subspan(position_); }
  size_t position() const { return position_; }

 private:
  BytesView bytes_;
  size_t position_ = 0;
};

}  // namespace castellan::record

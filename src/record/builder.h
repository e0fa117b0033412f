// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Makes one batch of format 2 from records.
//
//   BatchBuilder builder({.base_offset = 42, .compression = Compression::zstd});
//   builder.append(timestamp, key, value);
//   Bytes batch = builder.finish();
//
// Records go through the codec as they are appended, so a builder holds compressed bytes only.

#pragma once

#include "record/batch.h"
#include "record/compression.h"
#include "record/reader.h"

namespace castellan::record {

struct BatchOptions {
  int64_t base_offset = 0;
  int32_t leader_epoch = no_leader_epoch;
  Compression compression = Compression::none;
  int level = default_level;
  // When set, the batch says LogAppendTime with this time; record timestamps become deltas all the same.
  std::optional<int64_t> log_append_time = std::nullopt;
  int64_t producer_id = no_producer_id;
  int16_t producer_epoch = no_producer_epoch;
  int32_t base_sequence = no_sequence;
  bool transactional = false;
  bool control = false;
  std::optional<int64_t> delete_horizon = std::nullopt;  // takes the base timestamp's place (KIP-534)
};

class BatchBuilder {
 public:
  explicit BatchBuilder(const BatchOptions& options);
  ~BatchBuilder();
  BatchBuilder(BatchBuilder&&) noexcept;

  // The next offset: base offset + records so far.
  void append(int64_t timestamp, std::optional<BytesView> key, std::optional<BytesView> value, std::span<const Header> headers = {});
  // With an offset of its own, above the one before: compaction leaves gaps.
  void append_at(int64_t offset, int64_t timestamp, std::optional<BytesView> key, std::optional<BytesView> value, std::span<const Header> headers = {});
  // A record of another batch as it stands, with its headers still encoded.
  void append_record(int64_t offset, const Record& record);

  int32_t records_count() const { return count_; }
  bool empty() const { return count_ == 0; }
  // Size of the batch if it ended now; below the truth while a codec holds bytes back.
  size_t size() const { return out_.size(); }
  // The size that one more record would add, uncompressed.
  static size_t record_size(int64_t timestamp_delta, int32_t offset_delta, std::optional<BytesView> key, std::optional<BytesView> value,
                            std::span<const Header> headers = {});

  // `last_offset`: where the batch ends when that is beyond its last record (kept by compaction).
  Bytes finish(std::optional<int64_t> last_offset = std::nullopt);

 private:
  void add(int64_t offset, int64_t timestamp, std::optional<BytesView> key, std::optional<BytesView> value, int32_t header_count, BytesView header_bytes);
  void put(BytesView bytes);

  BatchOptions options_;
  std::unique_ptr<Compressor> compressor_;
  Bytes out_;
  int32_t count_ = 0;
  int64_t last_offset_;
  int64_t base_timestamp_ = no_timestamp;
  int64_t max_timestamp_ = no_timestamp;
};

// A batch without records, as compaction leaves one where a producer's last sequence number must live on (B174).
Bytes empty_batch(BatchView like);

}  // namespace castellan::record

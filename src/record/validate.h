// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a leader checks in a batch from a client before it appends it, and what it makes of it (B180 to B189): a pure
// function of the bytes, the topic's rules and the time.
//
//   auto checked = validate_produce(bytes, rules, now);
//   if (!checked) answer(checked.error().error, checked.error().record_errors);
//   else log.append_as_leader(checked->batch, ...);
//
// The batch is patched where it lies when it can stay as it is; only another codec or gaps in its offsets make new bytes.

#pragma once

#include "base/time.h"
#include "record/batch.h"
#include "record/compression.h"

namespace castellan::record {

struct ProduceRules {
  std::string topic_partition;                            // "topic-0", for messages
  bool zstd_allowed = true;                               // not before Produce version 7 (KIP-110)
  std::optional<Compression> compression = std::nullopt;  // compression.type; none given = "producer"
  int gzip_level = default_level;
  int lz4_level = default_level;
  int zstd_level = default_level;
  int32_t max_message_bytes = 1048588;
  int32_t segment_bytes = 1 << 30;
  bool compacted = false;  // cleanup.policy has compact: every record needs a key
  TimestampType timestamp_type = TimestampType::create_time;
  int64_t timestamp_before_max_ms = INT64_MAX;
  int64_t timestamp_after_max_ms = 3'600'000;
};

struct RecordError {
  int32_t batch_index = 0;  // of the record within the batch
  std::string message;

  friend bool operator==(const RecordError&, const RecordError&) = default;
};

struct ValidatedBatch {
  std::span<uint8_t> batch;        // what to append: the input, or `rebuilt`
  Bytes rebuilt;                   // owns new bytes when there are any
  int64_t log_append_time = -1;    // for the answer; -1 with CreateTime
  int64_t max_timestamp = -1;
};

struct ProduceFailure {
  Error error;
  std::vector<RecordError> record_errors;
};

// `records` is the whole field of the request: it must hold exactly one batch. Internal writers (coordinators) go through
// here too, with `from_client` false: recompression and limits, none of the rules for clients only.
std::expected<ValidatedBatch, ProduceFailure> validate_produce(std::span<uint8_t> records, const ProduceRules& rules, WallTime now, bool from_client = true);

}  // namespace castellan::record

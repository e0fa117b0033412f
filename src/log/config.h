// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a log is told about itself: the topic's configuration as far as files are concerned, Kafka's names and defaults.
// Whoever reads configurations fills it; sizes in bytes, times in milliseconds, -1 or INT64_MAX for "no limit" as in Kafka.

#pragma once

#include <cstdint>

namespace castellan::log {

struct LogConfig {
  int32_t segment_bytes = 1 << 30;
  int64_t segment_ms = 604'800'000;
  int64_t segment_jitter_ms = 0;
  int32_t segment_index_bytes = 10 << 20;
  int32_t index_interval_bytes = 4096;
  int64_t flush_messages = INT64_MAX;
  int64_t flush_ms = INT64_MAX;
  bool cleanup_delete = true;
  bool cleanup_compact = false;
  int64_t retention_bytes = -1;
  int64_t retention_ms = 604'800'000;
  int64_t file_delete_delay_ms = 60'000;
  int64_t delete_retention_ms = 86'400'000;
  int64_t min_compaction_lag_ms = 0;
  int64_t max_compaction_lag_ms = INT64_MAX;
  double min_cleanable_dirty_ratio = 0.5;
  int32_t max_message_bytes = 1048588;             // a compacted segment's read buffer grows to this
  int64_t producer_id_expiration_ms = 86'400'000;  // the broker's producer.id.expiration.ms

  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

}  // namespace castellan::log

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What holds for one topic's log: its own settings over the broker's over the defaults (Kafka's LogConfig).
//
//   TopicConfig topic = topic_config(server, overrides_in_the_image);
//   if (topic.compact) ...
//
// Times in milliseconds, sizes in bytes; -1 means without limit where Kafka says so. A value type. Pure.

#pragma once

#include <string>

#include "config/server_config.h"

namespace castellan::config {

enum class CompressionType : int8_t { uncompressed = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4, producer = 127 };

struct TopicConfig {
  bool compact = false;                  // cleanup.policy
  bool delete_ = true;
  CompressionType compression = CompressionType::producer;
  int32_t compression_gzip_level = -1;
  int32_t compression_lz4_level = 9;
  int32_t compression_zstd_level = 3;
  int64_t delete_retention_ms = 0;
  int64_t file_delete_delay_ms = 0;
  int64_t flush_messages = 0;
  int64_t flush_ms = 0;
  int32_t index_interval_bytes = 0;
  int64_t max_compaction_lag_ms = 0;
  int32_t max_message_bytes = 0;
  int32_t max_decompressed_message_bytes = 0;
  int64_t message_timestamp_after_max_ms = 0;
  int64_t message_timestamp_before_max_ms = 0;
  bool log_append_time = false;          // message.timestamp.type=LogAppendTime
  double min_cleanable_dirty_ratio = 0;
  int64_t min_compaction_lag_ms = 0;
  int32_t min_insync_replicas = 1;
  bool preallocate = false;
  int64_t retention_bytes = -1;
  int64_t retention_ms = 0;
  int32_t segment_bytes = 0;
  int32_t segment_index_bytes = 0;
  int64_t segment_jitter_ms = 0;
  int64_t segment_ms = 0;
  bool unclean_leader_election_enable = false;

  friend bool operator==(const TopicConfig&, const TopicConfig&) = default;
};

// `server` is the broker's effective config (with_dynamic). A bad value among `overrides` (written by another program) falls back to the broker's.
TopicConfig topic_config(const ServerConfig& server, const ConfigMap& overrides);

// What a topic gets for a key that it does not set itself: the broker's setting, in the topic key's unit (log.retention.hours=1 gives
// retention.ms 3600000), else the default.
Value broker_value_for_topic(const ServerConfig& server, std::string_view topic_key);

}  // namespace castellan::config

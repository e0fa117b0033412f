// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/topic_config.h"

#include "base/check.h"
#include "config/synonyms.h"

namespace castellan::config {
namespace {

// The broker's setting in milliseconds, whichever of its keys it was given under.
std::optional<int64_t> broker_milliseconds(const ServerConfig& server, std::string_view broker_key) {
  for (std::string_view name : broker_synonyms(broker_key)) {
    auto number = server.values.integer_or_null(name);
    if (!number) continue;
    int64_t unit = name.ends_with(".hours") ? 3'600'000 : name.ends_with(".minutes") ? 60'000 : 1;
    return *number < 0 && broker_key == "log.retention.ms" ? -1 : *number * unit;
  }
  return std::nullopt;
}

// One topic's settings over the broker's: each key's value, parsed.
class Effective {
 public:
  Effective(const ServerConfig& server, const ConfigMap& overrides) : server_(server), overrides_(overrides) {}

  Value value(std::string_view name) const {
    const Key* key = find_key(Scope::topic, name);
    CHECK(key != nullptr, "no topic key {}", name);
    if (auto found = overrides_.find(name); found != overrides_.end()) {
      if (auto parsed = parse_value(*key, found->second)) return std::move(*parsed);
    }
    return broker_value_for_topic(server_, name);
  }
  bool boolean(std::string_view name) const { return std::get<bool>(value(name)); }
  int64_t integer(std::string_view name) const { return std::get<int64_t>(value(name)); }
  int32_t integer32(std::string_view name) const { return static_cast<int32_t>(integer(name)); }
  double real(std::string_view name) const { return std::get<double>(value(name)); }
  std::string text(std::string_view name) const { return std::get<std::string>(value(name)); }

 private:
  const ServerConfig& server_;
  const ConfigMap& overrides_;
};

CompressionType parse_compression(std::string_view name) {
  if (name == "uncompressed") return CompressionType::uncompressed;
  if (name == "gzip") return CompressionType::gzip;
  if (name == "snappy") return CompressionType::snappy;
  if (name == "lz4") return CompressionType::lz4;
  if (name == "zstd") return CompressionType::zstd;
  return CompressionType::producer;
}

}  // namespace

Value broker_value_for_topic(const ServerConfig& server, std::string_view topic_key) {
  const Key* key = find_key(Scope::topic, topic_key);
  CHECK(key != nullptr, "no topic key {}", topic_key);
  auto broker_key = broker_key_of_topic_key(topic_key);
  if (!broker_key) return default_value(*key);
  if (broker_synonyms(*broker_key).size() > 1) {
    auto milliseconds = broker_milliseconds(server, *broker_key);
    return milliseconds ? Value(*milliseconds) : default_value(*key);
  }
  return server.values.value(*broker_key);
}

TopicConfig topic_config(const ServerConfig& server, const ConfigMap& overrides) {
  Effective settings(server, overrides);
  TopicConfig topic;
  topic.compact = topic.delete_ = false;
  const Value policies = settings.value("cleanup.policy");
  for (const std::string& policy : std::get<std::vector<std::string>>(policies)) {
    topic.compact |= policy == "compact";
    topic.delete_ |= policy == "delete";
  }
  topic.compression = parse_compression(settings.text("compression.type"));
  topic.compression_gzip_level = settings.integer32("compression.gzip.level");
  topic.compression_lz4_level = settings.integer32("compression.lz4.level");
  topic.compression_zstd_level = settings.integer32("compression.zstd.level");
  topic.delete_retention_ms = settings.integer("delete.retention.ms");
  topic.file_delete_delay_ms = settings.integer("file.delete.delay.ms");
  topic.flush_messages = settings.integer("flush.messages");
  topic.flush_ms = settings.integer("flush.ms");
  topic.index_interval_bytes = settings.integer32("index.interval.bytes");
  topic.max_compaction_lag_ms = settings.integer("max.compaction.lag.ms");
  topic.max_message_bytes = settings.integer32("max.message.bytes");
  topic.max_decompressed_message_bytes = settings.integer32("max.decompressed.message.bytes");
  topic.message_timestamp_after_max_ms = settings.integer("message.timestamp.after.max.ms");
  topic.message_timestamp_before_max_ms = settings.integer("message.timestamp.before.max.ms");
  topic.log_append_time = settings.text("message.timestamp.type") == "LogAppendTime";
  topic.min_cleanable_dirty_ratio = settings.real("min.cleanable.dirty.ratio");
  topic.min_compaction_lag_ms = settings.integer("min.compaction.lag.ms");
  topic.min_insync_replicas = settings.integer32("min.insync.replicas");
  topic.preallocate = settings.boolean("preallocate");
  topic.retention_bytes = settings.integer("retention.bytes");
  topic.retention_ms = settings.integer("retention.ms");
  Value internal_segment_bytes = settings.value("internal.segment.bytes");
  topic.segment_bytes = std::holds_alternative<int64_t>(internal_segment_bytes) ? static_cast<int32_t>(std::get<int64_t>(internal_segment_bytes))
                                                                                : settings.integer32("segment.bytes");
  topic.segment_index_bytes = settings.integer32("segment.index.bytes");
  topic.segment_jitter_ms = settings.integer("segment.jitter.ms");
  topic.segment_ms = settings.integer("segment.ms");
  topic.unclean_leader_election_enable = settings.boolean("unclean.leader.election.enable");
  return topic;
}

}  // namespace castellan::config

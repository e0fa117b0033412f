// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/partition.h"

#include "broker/names.h"

namespace castellan::broker {

ErrorCode Partition::check_leader_epoch(int32_t claimed) const {
  if (claimed < 0 || claimed == leader_epoch_) return ErrorCode::NONE;
  return claimed < leader_epoch_ ? ErrorCode::FENCED_LEADER_EPOCH : ErrorCode::UNKNOWN_LEADER_EPOCH;
}

ErrorCode Partition::check_leader(int32_t claimed_epoch) const {
  if (offline()) return ErrorCode::KAFKA_STORAGE_ERROR;
  if (const auto error = check_leader_epoch(claimed_epoch); error != ErrorCode::NONE) return error;
  return leads_ ? ErrorCode::NONE : ErrorCode::NOT_LEADER_OR_FOLLOWER;
}

bool Partition::under_min_isr() const {
  const auto required = std::min<size_t>(static_cast<size_t>(config_.min_insync_replicas), metadata_.replicas.size());
  return metadata_.isr.size() < required;
}

Partition::EpochEnd Partition::end_offset_for_epoch(int32_t epoch) const {
  const auto [found, end] = log_->leader_epochs().end_offset_for(epoch, log_->log_end_offset());
  return {found, end};
}

void Partition::set_log(std::unique_ptr<log::Log> log, std::string directory) {
  log_ = std::move(log);
  directory_ = std::move(directory);
  offline_reason_.clear();
}

void Partition::set_offline(std::string reason) {
  log_.reset();
  offline_reason_ = std::move(reason);
  waiting.look();
}

void Partition::set_metadata(image::PartitionState metadata, bool leads) {
  metadata_ = std::move(metadata);
  leads_ = leads;
  leader_epoch_ = metadata_.leader_epoch.value;
  internal_ = is_internal_topic(topic_);
}

void Partition::set_config(const config::TopicConfig& config, int64_t producer_id_expiration_ms) {
  config_ = config;
  rules_ = produce_rules(config);
  if (log_) log_->set_config(log_config(config, producer_id_expiration_ms));
}

void Partition::after_append() {
  // Replicas that are in sync but elsewhere hold the watermark back; a sole one is the whole set.
  if (metadata_.isr.size() <= 1) log_->set_high_watermark(log_->log_end_offset());
  waiting.look();
}

log::LogConfig log_config(const config::TopicConfig& config, int64_t producer_id_expiration_ms) {
  log::LogConfig to;
  to.segment_bytes = config.segment_bytes;
  to.segment_ms = config.segment_ms;
  to.segment_jitter_ms = config.segment_jitter_ms;
  to.segment_index_bytes = config.segment_index_bytes;
  to.index_interval_bytes = config.index_interval_bytes;
  to.flush_messages = config.flush_messages;
  to.flush_ms = config.flush_ms;
  to.cleanup_delete = config.delete_;
  to.cleanup_compact = config.compact;
  to.retention_bytes = config.retention_bytes;
  to.retention_ms = config.retention_ms;
  to.file_delete_delay_ms = config.file_delete_delay_ms;
  to.delete_retention_ms = config.delete_retention_ms;
  to.min_compaction_lag_ms = config.min_compaction_lag_ms;
  to.max_compaction_lag_ms = config.max_compaction_lag_ms;
  to.min_cleanable_dirty_ratio = config.min_cleanable_dirty_ratio;
  to.max_message_bytes = config.max_message_bytes;
  to.producer_id_expiration_ms = producer_id_expiration_ms;
  return to;
}

record::ProduceRules produce_rules(const config::TopicConfig& config) {
  record::ProduceRules rules;
  if (config.compression != config::CompressionType::producer) rules.compression = static_cast<record::Compression>(config.compression);
  rules.gzip_level = config.compression_gzip_level;
  rules.lz4_level = config.compression_lz4_level;
  rules.zstd_level = config.compression_zstd_level;
  rules.max_message_bytes = config.max_message_bytes;
  rules.segment_bytes = config.segment_bytes;
  rules.compacted = config.compact;
  rules.timestamp_type = config.log_append_time ? record::TimestampType::log_append_time : record::TimestampType::create_time;
  rules.timestamp_before_max_ms = config.message_timestamp_before_max_ms;
  rules.timestamp_after_max_ms = config.message_timestamp_after_max_ms;
  return rules;
}

}  // namespace castellan::broker

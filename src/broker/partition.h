// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One partition that this broker keeps: its log, what the metadata says of it, and who waits for it. Without a log it is
// offline: it answers KAFKA_STORAGE_ERROR and says why in the log of the node.
//
// Owner: Partitions. One loop.

#pragma once

#include <memory>
#include <string>

#include "broker/waiting.h"
#include "config/topic_config.h"
#include "image/partition.h"
#include "log/log.h"
#include "record/validate.h"

namespace castellan::broker {

struct PartitionId {
  TopicId topic;
  int32_t index = 0;

  friend auto operator<=>(const PartitionId&, const PartitionId&) = default;
};

class Partition {
 public:
  Partition(PartitionId id, std::string topic_name) : id_(id), topic_(std::move(topic_name)) {}

  const PartitionId& id() const { return id_; }
  const std::string& topic() const { return topic_; }
  int32_t index() const { return id_.index; }
  std::string name() const { return topic_ + "-" + std::to_string(id_.index); }

  log::Log* log() { return log_.get(); }
  bool offline() const { return !log_; }
  bool leads() const { return leads_; }
  int32_t leader_epoch() const { return leader_epoch_; }
  NodeId leader() const { return metadata_.leader; }
  const image::PartitionState& metadata() const { return metadata_; }
  const config::TopicConfig& config() const { return config_; }
  const record::ProduceRules& rules() const { return rules_; }
  const std::string& directory() const { return directory_; }   // the log directory, not the folder
  bool is_internal() const { return internal_; }

  // --- what others may ask
  // The leader's checks of an epoch that a client or follower sent (B277); -1 is none.
  ErrorCode check_leader_epoch(int32_t claimed) const;
  // For requests that only the leader serves: with the epoch check.
  ErrorCode check_leader(int32_t claimed_epoch) const;
  int64_t high_watermark() const { return log_->high_watermark(); }
  int64_t last_stable_offset() const { return log_->last_stable_offset(); }
  // B179: too few in-sync replicas for acks=all.
  bool under_min_isr() const;
  // The answer of OffsetForLeaderEpoch (B287): epoch and its end offset, (-1, -1) when unknown.
  struct EpochEnd {
    int32_t epoch = -1;
    int64_t end_offset = -1;
  };
  EpochEnd end_offset_for_epoch(int32_t epoch) const;

  // --- changes, by Partitions and the handlers
  void set_log(std::unique_ptr<log::Log> log, std::string directory);
  void set_offline(std::string reason);
  const std::string& offline_reason() const { return offline_reason_; }
  void set_metadata(image::PartitionState metadata, bool leads);
  void set_config(const config::TopicConfig& config, int64_t producer_id_expiration_ms);
  std::unique_ptr<log::Log> take_log() { return std::move(log_); }
  // The log grew: moves the high watermark as far as the in-sync replicas allow, and wakes who waits.
  void after_append();

  WaitingList waiting;
  // Its folder is known to be on disk, whatever happens: nothing is appended before (Partitions::seal).
  bool sealed = false;
  // Damaged ranges of the log that have been counted.
  size_t damage_noted = 0;

 private:
  PartitionId id_;
  std::string topic_;
  std::string directory_;
  std::unique_ptr<log::Log> log_;
  std::string offline_reason_;
  image::PartitionState metadata_;
  int32_t leader_epoch_ = -1;
  bool leads_ = false;
  bool internal_ = false;
  config::TopicConfig config_;
  record::ProduceRules rules_;
};

log::LogConfig log_config(const config::TopicConfig& config, int64_t producer_id_expiration_ms);
record::ProduceRules produce_rules(const config::TopicConfig& config);

}  // namespace castellan::broker

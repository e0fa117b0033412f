// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/synonyms.h"

#include <algorithm>
#include <span>
#include <utility>

namespace castellan::config {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr Pair topic_keys[] = {
    {"cleanup.policy", "log.cleanup.policy"},
    {"compression.gzip.level", "compression.gzip.level"},
    {"compression.lz4.level", "compression.lz4.level"},
    {"compression.type", "compression.type"},
    {"compression.zstd.level", "compression.zstd.level"},
    {"delete.retention.ms", "log.cleaner.delete.retention.ms"},
    {"file.delete.delay.ms", "log.segment.delete.delay.ms"},
    {"flush.messages", "log.flush.interval.messages"},
    {"flush.ms", "log.flush.interval.ms"},
    {"index.interval.bytes", "log.index.interval.bytes"},
    {"local.retention.bytes", "log.local.retention.bytes"},
    {"local.retention.ms", "log.local.retention.ms"},
    {"max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"},
    {"max.decompressed.message.bytes", "max.decompressed.message.bytes"},
    {"max.message.bytes", "message.max.bytes"},
    {"message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms"},
    {"message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms"},
    {"message.timestamp.type", "log.message.timestamp.type"},
    {"min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio"},
    {"min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms"},
    {"min.insync.replicas", "min.insync.replicas"},
    {"preallocate", "log.preallocate"},
    {"remote.copy.lag.bytes", "log.remote.copy.lag.bytes"},
    {"remote.copy.lag.ms", "log.remote.copy.lag.ms"},
    {"retention.bytes", "log.retention.bytes"},
    {"retention.ms", "log.retention.ms"},
    {"segment.bytes", "log.segment.bytes"},
    {"segment.index.bytes", "log.index.size.max.bytes"},
    {"segment.jitter.ms", "log.roll.jitter.ms"},
    {"segment.ms", "log.roll.ms"},
    {"unclean.leader.election.enable", "unclean.leader.election.enable"},
};

constexpr Pair group_keys[] = {
    {"consumer.assignment.interval.ms", "group.consumer.assignment.interval.ms"},
    {"consumer.assignor.offload.enable", "group.consumer.assignor.offload.enable"},
    {"consumer.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"},
    {"consumer.session.timeout.ms", "group.consumer.session.timeout.ms"},
    {"share.assignment.interval.ms", "group.share.assignment.interval.ms"},
    {"share.assignor.offload.enable", "group.share.assignor.offload.enable"},
    {"share.delivery.count.limit", "group.share.delivery.count.limit"},
    {"share.heartbeat.interval.ms", "group.share.heartbeat.interval.ms"},
    {"share.partition.max.record.locks", "group.share.partition.max.record.locks"},
    {"share.record.lock.duration.ms", "group.share.record.lock.duration.ms"},
    {"share.session.timeout.ms", "group.share.session.timeout.ms"},
    {"streams.acceptable.recovery.lag", "group.streams.acceptable.recovery.lag"},
    {"streams.assignment.interval.ms", "group.streams.assignment.interval.ms"},
    {"streams.assignor.name", "group.streams.assignors"},
    {"streams.assignor.offload.enable", "group.streams.assignor.offload.enable"},
    {"streams.heartbeat.interval.ms", "group.streams.heartbeat.interval.ms"},
    {"streams.initial.rebalance.delay.ms", "group.streams.initial.rebalance.delay.ms"},
    {"streams.num.standby.replicas", "group.streams.num.standby.replicas"},
    {"streams.num.warmup.replicas", "group.streams.num.warmup.replicas"},
    {"streams.rack.aware.assignment.tags", "group.streams.rack.aware.assignment.tags"},
    {"streams.session.timeout.ms", "group.streams.session.timeout.ms"},
    {"streams.task.offset.interval.ms", "group.streams.task.offset.interval.ms"},
};

std::optional<std::string_view> find(std::span<const Pair> pairs, std::string_view key) {
  auto found = std::lower_bound(pairs.begin(), pairs.end(), key, [](const Pair& pair, std::string_view wanted) { return pair.first < wanted; });
  if (found == pairs.end() || found->first != key) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<std::string_view> broker_key_of_topic_key(std::string_view topic_key) { return find(topic_keys, topic_key); }
std::optional<std::string_view> broker_key_of_group_key(std::string_view group_key) { return find(group_keys, group_key); }

bool changes_at_run_time(std::string_view broker_key) {
  const std::string_view base = broker_synonyms(broker_key).back();  // without listener.name.X.
  if (base.starts_with("ssl.") || base.starts_with("sasl.") || broker_key.starts_with("listener.name.")) return false;
  return base != "listeners" && base != "listener.security.protocol.map" && base != "principal.builder.class";
}

std::vector<std::string_view> broker_synonyms(std::string_view key) {
  static const std::vector<std::vector<std::string_view>> families = {
      {"log.roll.ms", "log.roll.hours"},
      {"log.roll.jitter.ms", "log.roll.jitter.hours"},
      {"log.retention.ms", "log.retention.minutes", "log.retention.hours"},
  };
  for (const auto& family : families) {
    if (std::find(family.begin(), family.end(), key) != family.end()) return family;
  }
  if (key == "log.flush.interval.ms") return {key, "log.flush.scheduler.interval.ms"};  // one way only: the scheduler's interval is its own setting too
  constexpr std::string_view prefix = "listener.name.";
  if (key.starts_with(prefix)) {
    if (size_t dot = key.find('.', prefix.size()); dot != std::string_view::npos) return {key, key.substr(dot + 1)};
  }
  return {key};
}

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The settings of the group coordinator, with Kafka's defaults. Copied in by the broker; a changed setting is a new copy.

#pragma once

#include <chrono>
#include <cstdint>

namespace castellan::group {

struct Configuration {
  std::chrono::milliseconds session_timeout_min{6'000};           // group.min.session.timeout.ms
  std::chrono::milliseconds session_timeout_max{1'800'000};       // group.max.session.timeout.ms
  std::chrono::milliseconds initial_rebalance_delay{3'000};       // group.initial.rebalance.delay.ms
  std::chrono::milliseconds new_member_join_timeout{300'000};     // not configurable in Kafka either
  int32_t group_size_max = INT32_MAX;                             // group.max.size
  int32_t metadata_size_max = 4'096;                              // offset.metadata.max.bytes, in UTF-16 units as Kafka counts
  std::chrono::milliseconds offsets_retention{10'080 * 60'000ll}; // offsets.retention.minutes
  std::chrono::milliseconds retention_check_interval{600'000};    // offsets.retention.check.interval.ms
  std::chrono::milliseconds commit_timeout{5'000};                // offsets.commit.timeout.ms
  // Of groups of other protocols, whose members cannot heartbeat here: how long they count as alive after a load.
  std::chrono::milliseconds consumer_session_timeout{45'000};     // group.consumer.session.timeout.ms
  std::chrono::milliseconds share_session_timeout{45'000};        // group.share.session.timeout.ms
  std::chrono::milliseconds streams_session_timeout{45'000};      // group.streams.session.timeout.ms
  int32_t offsets_partitions = 50;                                // offsets.topic.num.partitions
  size_t batch_size_max = 1'048'588;                              // max.message.bytes of __consumer_offsets
};

}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// ListOffsets (B127 to B131) and OffsetForLeaderEpoch (B286, B287): questions about where in a log something lies.

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/partitions.h"
#include "wire/messages/list_offsets_request.h"
#include "wire/messages/list_offsets_response.h"
#include "wire/messages/offset_for_leader_epoch_request.h"
#include "wire/messages/offset_for_leader_epoch_response.h"

namespace castellan::broker {

namespace {

// Timestamps that are no times. Numbers of the protocol.
constexpr int64_t latest = -1;
constexpr int64_t earliest = -2;
constexpr int64_t max_timestamp = -3;
constexpr int64_t earliest_local = -4;
constexpr int64_t latest_tiered = -5;
constexpr int64_t earliest_pending_upload = -6;

constexpr int32_t debugging_replica = -2;  // may ask a follower too

int16_t first_version_of(int64_t timestamp) {
  switch (timestamp) {
    case max_timestamp: return 7;
    case earliest_local: return 8;
    case latest_tiered: return 9;
    case earliest_pending_upload: return 11;
    default: return timestamp >= earliest ? 1 : INT16_MAX;
  }
}

using PartitionResponse = wire::ListOffsetsResponse::ListOffsetsPartitionResponse;

void refuse(PartitionResponse& response, ErrorCode error) {
  response.error_code = static_cast<int16_t>(error);
  response.timestamp = response.offset = -1;
  response.leader_epoch = -1;
}

void fill(PartitionResponse& response, const log::TimestampOffset& found) {
  response.timestamp = found.timestamp;
  response.offset = found.offset;
  response.leader_epoch = found.leader_epoch;
}

// How far this client may see.
int64_t visible_end(const Partition& partition, log::Log& log, int32_t replica_id, int8_t isolation) {
  if (replica_id != -1) return log.log_end_offset();
  return isolation == 1 ? partition.last_stable_offset() : partition.high_watermark();
}

ErrorCode answer(Partition& partition, int64_t timestamp, int32_t replica_id, int8_t isolation, int16_t version, PartitionResponse& response) {
  log::Log& log = *partition.log();
  const int64_t end = visible_end(partition, log, replica_id, isolation);
  // A new leader does not know how far the old one had come until its watermark reaches its own epoch (KIP-207).
  const auto epoch_start = log.leader_epochs().latest();
  const bool unsure = replica_id == -1 && epoch_start && epoch_start->epoch == partition.leader_epoch() &&
                      partition.high_watermark() < epoch_start->start_offset;
  const auto not_available = version >= 5 ? ErrorCode::OFFSET_NOT_AVAILABLE : ErrorCode::LEADER_NOT_AVAILABLE;
  switch (timestamp) {
    case latest:
      if (unsure) return not_available;
      fill(response, {-1, end, partition.leader_epoch()});
      return ErrorCode::NONE;
    case earliest:
    case earliest_local: {
      const auto& epochs = log.leader_epochs().entries();
      const bool known = !epochs.empty() && epochs.front().start_offset <= log.log_start_offset();
      fill(response, {-1, log.log_start_offset(), known ? log.leader_epochs().epoch_for_offset(log.log_start_offset()).value_or(epochs.front().epoch) : -1});
      return ErrorCode::NONE;
    }
    case latest_tiered:
    case earliest_pending_upload:  // there is no tiered storage
      fill(response, {});
      return ErrorCode::NONE;
    default: {
      auto found = timestamp == max_timestamp ? log.offset_of_max_timestamp() : log.offset_for_timestamp(timestamp, end);
      if (!found) return found.error().code;
      if (unsure && (!*found || (*found)->offset >= end)) return not_available;
      fill(response, found->value_or(log::TimestampOffset{}));
      return ErrorCode::NONE;
    }
  }
}

}  // namespace

void handle_list_offsets(Broker& broker, RequestPtr request, wire::ListOffsetsRequest& body) {
  const int16_t version = request->version();
  std::map<std::pair<std::string, int32_t>, int> times;
  for (const auto& topic : body.topics) {
    for (const auto& asked : topic.partitions) ++times[{topic.name, asked.partition_index}];
  }
  wire::ListOffsetsResponse response;
  for (const auto& topic : body.topics) {
    auto& topic_response = response.topics.emplace_back();
    topic_response.name = topic.name;
    for (const auto& asked : topic.partitions) {
      int& left = times[{topic.name, asked.partition_index}];
      if (left == 0) continue;  // a duplicate that has been refused
      auto& partition_response = topic_response.partitions.emplace_back();
      partition_response.partition_index = asked.partition_index;
      if (std::exchange(left, 0) > 1) {
        refuse(partition_response, ErrorCode::INVALID_REQUEST);
        continue;
      }
      if (version < first_version_of(asked.timestamp)) {
        refuse(partition_response, ErrorCode::UNSUPPORTED_VERSION);
        continue;
      }
      const auto found = broker.partitions().find(topic.name, asked.partition_index);
      auto error = found.error;
      if (found.partition) {
        error = body.replica_id == debugging_replica
                    ? (found.partition->offline() ? ErrorCode::KAFKA_STORAGE_ERROR : found.partition->check_leader_epoch(asked.current_leader_epoch))
                    : found.partition->check_leader(asked.current_leader_epoch);
        if (error == ErrorCode::NONE) {
          error = answer(*found.partition, asked.timestamp, body.replica_id, body.isolation_level, version, partition_response);
        }
      }
      if (error != ErrorCode::NONE) refuse(partition_response, error);
      if (version < 4) partition_response.leader_epoch = -1;
    }
  }
  reply(*request, response);
}

void handle_offset_for_leader_epoch(Broker& broker, RequestPtr request, wire::OffsetForLeaderEpochRequest& body) {
  wire::OffsetForLeaderEpochResponse response;
  for (const auto& topic : body.topics) {
    auto& topic_response = response.topics.emplace_back();
    topic_response.topic = topic.topic;
    for (const auto& asked : topic.partitions) {
      auto& end = topic_response.partitions.emplace_back();
      end.partition = asked.partition;
      const auto found = broker.partitions().find(topic.topic, asked.partition);
      auto error = found.error;
      if (found.partition) error = found.partition->check_leader(asked.current_leader_epoch);
      if (error == ErrorCode::NONE) {
        const auto epoch_end = found.partition->end_offset_for_epoch(asked.leader_epoch);
        end.leader_epoch = epoch_end.epoch;
        end.end_offset = epoch_end.end_offset;
      }
      end.error_code = static_cast<int16_t>(error);
    }
  }
  reply(*request, response);
}

}  // namespace castellan::broker

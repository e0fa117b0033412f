// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// DeleteRecords (B147): moves a log's start. The new start is on disk before the answer, so that a crash does not bring
// deleted records back (Apache Kafka answers first).

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/names.h"
#include "broker/partitions.h"
#include "wire/messages/delete_records_request.h"
#include "wire/messages/delete_records_response.h"

namespace castellan::broker {

namespace {

Result<int64_t> delete_before(Broker& broker, const std::string& topic, int32_t index, int64_t offset) {
  if (is_internal_topic(topic)) return fail(ErrorCode::INVALID_TOPIC_EXCEPTION, "records of {} are not deleted by clients", topic);
  const auto found = broker.partitions().find(topic, index);
  if (!found.partition) return fail(found.error, "{}-{}", topic, index);
  Partition& partition = *found.partition;
  if (const auto error = partition.check_leader(-1); error != ErrorCode::NONE) return fail(error, "{}-{}", topic, index);
  if (!partition.config().delete_) return fail(ErrorCode::POLICY_VIOLATION, "{} is compacted only", topic);
  log::Log& log = *partition.log();
  const int64_t target = offset == -1 ? log.high_watermark() : offset;
  if (target < 0 || target > log.high_watermark()) {
    return fail(ErrorCode::OFFSET_OUT_OF_RANGE, "{}-{}: {} is beyond the high watermark {}", topic, index, target, log.high_watermark());
  }
  if (target > log.log_start_offset()) {
    if (auto moved = log.advance_log_start(target); !moved) {
      if (moved.error().code == ErrorCode::KAFKA_STORAGE_ERROR) broker.partitions().on_storage_error(partition, moved.error());
      return unexpected(moved.error());
    }
    TRY_VOID(broker.partitions().store_log_start(partition));
    partition.waiting.look();
  }
  return log.log_start_offset();
}

}  // namespace

void handle_delete_records(Broker& broker, RequestPtr request, wire::DeleteRecordsRequest& body) {
  wire::DeleteRecordsResponse response;
  for (const auto& topic : body.topics) {
    auto& topic_response = response.topics.emplace_back();
    topic_response.name = topic.name;
    for (const auto& asked : topic.partitions) {
      auto& result = topic_response.partitions.emplace_back();
      result.partition_index = asked.partition_index;
      const auto low_watermark = delete_before(broker, topic.name, asked.partition_index, asked.offset);
      result.low_watermark = low_watermark ? *low_watermark : -1;
      result.error_code = static_cast<int16_t>(low_watermark ? ErrorCode::NONE : low_watermark.error().code);
    }
  }
  reply(*request, response);
}

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// DescribeLogDirs (B451): what lies where and how large it is.

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/partitions.h"
#include "wire/messages/describe_log_dirs_request.h"
#include "wire/messages/describe_log_dirs_response.h"

namespace castellan::broker {

void handle_describe_log_dirs(Broker& broker, RequestPtr request, wire::DescribeLogDirsRequest& body) {
  std::set<std::pair<std::string, int32_t>> wanted;
  if (body.topics) {
    for (const auto& topic : *body.topics) {
      for (const int32_t index : topic.partitions) wanted.emplace(topic.topic, index);
    }
  }
  wire::DescribeLogDirsResponse response;
  for (const auto& directory : broker.partitions().directories().all()) {
    auto& result = response.results.emplace_back();
    result.log_dir = directory->path;
    if (!directory->online()) {
      result.error_code = static_cast<int16_t>(ErrorCode::KAFKA_STORAGE_ERROR);
      continue;
    }
    if (request->version() >= 4) {
      if (auto space = broker.surroundings().files.disk_space(directory->path)) {
        result.total_bytes = static_cast<int64_t>(space->total_bytes);
        result.usable_bytes = static_cast<int64_t>(space->usable_bytes);
      }
    }
    std::map<std::string, std::vector<Partition*>> by_topic;
    for (const auto& [id, partition] : broker.partitions().all()) {
      if (partition->offline() || partition->directory() != directory->path) continue;
      if (body.topics && !wanted.contains({partition->topic(), partition->index()})) continue;
      by_topic[partition->topic()].push_back(partition.get());
    }
    for (const auto& [name, partitions] : by_topic) {
      auto& topic = result.topics.emplace_back();
      topic.name = name;
      for (auto* partition : partitions) {
        auto& described = topic.partitions.emplace_back();
        described.partition_index = partition->index();
        described.partition_size = static_cast<int64_t>(partition->log()->size());
        described.offset_lag = std::max<int64_t>(0, partition->high_watermark() - partition->log()->log_end_offset());
      }
    }
  }
  reply(*request, response);
}

}  // namespace castellan::broker

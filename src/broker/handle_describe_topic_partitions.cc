// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// DescribeTopicPartitions (B149, KIP-966): topics in the order of their names, a page at a time.

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/metadata_view.h"
#include "broker/names.h"
#include "wire/messages/describe_topic_partitions_request.h"
#include "wire/messages/describe_topic_partitions_response.h"

namespace castellan::broker {

namespace {

using Response = wire::DescribeTopicPartitionsResponse;

void refuse(Request& request, const wire::DescribeTopicPartitionsRequest& body) {
  Response response;
  for (const auto& topic : body.topics) {
    auto& refused = response.topics.emplace_back();
    refused.name = topic.name;
    refused.error_code = static_cast<int16_t>(ErrorCode::INVALID_REQUEST);
  }
  reply(request, response);
}

Response::DescribeTopicPartitionsResponsePartition describe(const MetadataView& view, int32_t index, const image::Partition& partition) {
  Response::DescribeTopicPartitionsResponsePartition described;
  described.partition_index = index;
  described.leader_id = view.endpoint(partition.leader()) ? partition.leader().value : -1;
  described.leader_epoch = partition.leader_epoch().value;
  described.replica_nodes = to_numbers(partition.replicas());
  described.isr_nodes = to_numbers(partition.isr());
  described.eligible_leader_replicas = to_numbers(partition.elr());
  described.last_known_elr = to_numbers(partition.last_known_elr());
  described.offline_replicas = view.offline_replicas(partition);
  return described;
}

}  // namespace

void handle_describe_topic_partitions(Broker& broker, RequestPtr request, wire::DescribeTopicPartitionsRequest& body) {
  const MetadataView view{broker.image(), request->listener()};
  const bool all = body.topics.empty();
  const std::string first = body.cursor ? body.cursor->topic_name : "";
  std::set<std::string> names;
  if (all) {
    for (const auto& [name, id] : view.image.topics.ids) {
      if (name >= first) names.insert(name);
    }
  } else {
    for (const auto& topic : body.topics) {
      if (topic.name >= first) names.insert(topic.name);
    }
    if (body.cursor && !names.contains(first)) return refuse(*request, body);
  }
  if (body.cursor && body.cursor->partition_index < 0) return refuse(*request, body);

  Response response;
  int64_t room = std::max<int64_t>(
      1, std::min<int64_t>(broker.server().values.integer("max.request.partition.size.limit"), body.response_partition_limit));
  for (const auto& name : names) {
    if (room == 0) {
      response.next_cursor.emplace();
      response.next_cursor->topic_name = name;
      break;
    }
    const auto* topic = view.image.topics.by_name(name);
    if (!topic && all) continue;
    auto& described = response.topics.emplace_back();
    described.name = name;
    described.is_internal = is_internal_topic(name);
    described.topic_authorized_operations = all_topic_operations;
    if (!topic) {
      described.error_code = static_cast<int16_t>(is_valid_topic_name(name) ? ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                                                                            : ErrorCode::INVALID_TOPIC_EXCEPTION);
      continue;
    }
    described.topic_id = topic->id.value;
    const int32_t start = body.cursor && name == first ? body.cursor->partition_index : 0;
    const int64_t count = static_cast<int64_t>(topic->partitions.size());
    const int64_t end = std::min<int64_t>(count, start + room);
    for (int64_t index = start; index < end; ++index) {
      if (const auto* partition = topic->partition(static_cast<int32_t>(index))) {
        described.partitions.push_back(describe(view, static_cast<int32_t>(index), *partition));
      }
    }
    room -= static_cast<int64_t>(described.partitions.size());
    if (end < count) {
      response.next_cursor.emplace();
      response.next_cursor->topic_name = name;
      response.next_cursor->partition_index = static_cast<int32_t>(end);
      break;
    }
  }
  reply(*request, response);
}

}  // namespace castellan::broker

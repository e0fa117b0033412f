// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <map>

#include "controller/new_partitions.h"
#include "controller/topics.h"
#include "image/snapshot.h"
#include "wire/messages/create_partitions_request.h"
#include "wire/messages/create_partitions_response.h"

namespace castellan::controller {

namespace {

using Topic = wire::CreatePartitionsRequest::CreatePartitionsTopic;

Result<std::vector<PartitionState>> manual_partitions(const Context& context, const Topic& topic, int32_t first_index, size_t replication_factor) {
  std::vector<PartitionState> partitions;
  for (const auto& assignment : *topic.assignments) {
    TRY_VOID(validate_assignment(context, assignment.broker_ids, replication_factor));
    auto state = new_partition(context, node_ids(assignment.broker_ids));
    if (!state) {
      return fail(ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                  "All brokers specified in the manual partition assignment for partition {} are fenced or in controlled shutdown.",
                  first_index + static_cast<int32_t>(partitions.size()));
    }
    partitions.push_back(std::move(*state));
  }
  return partitions;
}

Result<MetadataRecords> add_partitions(const Context& context, const Topic& topic) {
  const image::Topic* found = context.image.topics.by_name(topic.name);
  if (found == nullptr) return unexpected(error_of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  const auto current = static_cast<int32_t>(found->partitions.size());
  if (topic.count == current) return fail(ErrorCode::INVALID_PARTITIONS, "Topic already has {} partition(s).", current);
  if (topic.count < current) {
    return fail(ErrorCode::INVALID_PARTITIONS, "The topic {} currently has {} partition(s); {} would not be an increase.", topic.name, current, topic.count);
  }
  const int32_t additional = topic.count - current;
  if (topic.assignments && topic.assignments->size() != static_cast<size_t>(additional)) {
    return fail(ErrorCode::INVALID_REPLICA_ASSIGNMENT, "Attempted to add {} additional partition(s), but only {} assignment(s) were specified.", additional,
                topic.assignments->size());
  }
  if (additional > static_cast<int32_t>(records_per_request_max)) {
    return fail(ErrorCode::POLICY_VIOLATION, "Excessively large number of partitions per request.");
  }
  const image::Partition* first = found->partition(0);
  if (first == nullptr) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "Invalid state: topic {} appears to have no partitions.", topic.name);
  const size_t replication_factor = first->replicas().size();
  TRY(const auto partitions, topic.assignments ? manual_partitions(context, topic, current, replication_factor)
                                               : place_partitions(context, additional, static_cast<int16_t>(replication_factor)));
  TRY_VOID(context.charge_mutations(partitions.size()));
  MetadataRecords records;
  for (size_t i = 0; i < partitions.size(); ++i) {
    records.push_back(image::partition_record({found->id, current + static_cast<int32_t>(i)}, partitions[i], context.metadata_version(), context.elr_enabled()));
  }
  return records;
}

}  // namespace

ControllerResult create_partitions(const Context& context, const wire::CreatePartitionsRequest& request) {
  ControllerResult result{.atomic = true};
  wire::CreatePartitionsResponse response;
  const auto answer = [&](const std::string& name, const Error& error) {
    auto& out = response.results.emplace_back();
    out.name = name;
    out.error_code = number(error.code);
    if (error.code != ErrorCode::NONE) out.error_message = error.message;
  };
  std::map<std::string, int> times;
  for (const Topic& topic : request.topics) ++times[topic.name];
  for (const auto& [name, count] : times) {
    if (count > 1) answer(name, {ErrorCode::INVALID_REQUEST, "Duplicate topic name."});
  }
  for (const Topic& topic : request.topics) {
    if (times[topic.name] > 1) continue;
    if (!context.allowed(AclOperation::ALTER, AclResourceType::TOPIC, topic.name)) {
      answer(topic.name, error_of(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
      continue;
    }
    auto records = add_partitions(context, topic);
    if (records && result.records.size() + records->size() > records_per_request_max) records = unexpected(error_of(ErrorCode::POLICY_VIOLATION));
    if (!records) {
      answer(topic.name, records.error());
      continue;
    }
    result.notes.push_back(fmt::format("{} {} partition(s) to topic {}", request.validate_only ? "Could add" : "Adding", records->size(), topic.name));
    std::ranges::move(*records, std::back_inserter(result.records));
    answer(topic.name, {ErrorCode::NONE, {}});
  }
  if (request.validate_only) result.records.clear();
  response.throttle_time_ms = context.throttle_ms();
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace castellan::controller

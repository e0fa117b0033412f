// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <algorithm>
#include <map>
#include <set>

#include "config/alter.h"
#include "config/describe.h"
#include "controller/configs.h"
#include "controller/new_partitions.h"
#include "controller/topic_defaults.h"
#include "controller/topics.h"
#include "image/snapshot.h"
#include "wire/messages/create_topics_request.h"
#include "wire/messages/create_topics_response.h"

namespace castellan::controller {

namespace {

using Topic = wire::CreateTopicsRequest::CreatableTopic;
using TopicResult = wire::CreateTopicsResponse::CreatableTopicResult;

TopicResult refused(const std::string& name, const Error& error) {
  TopicResult result;
  result.name = name;
  result.error_code = number(error.code);
  result.error_message = error.message;
  return result;
}

// Over all topics of the request; 64 bits, since two counts may overflow 32.
Result<void> check_partition_total(const Context& context, const wire::CreateTopicsRequest& request) {
  int64_t total = 0;
  for (const Topic& topic : request.topics) {
    if (!topic.assignments.empty()) total += static_cast<int64_t>(topic.assignments.size());
    else if (topic.num_partitions == -1) total += context.settings.server->values.integer("num.partitions");
    else if (topic.num_partitions > 0) total += topic.num_partitions;
  }
  if (total > static_cast<int64_t>(records_per_request_max)) {
    return fail(ErrorCode::POLICY_VIOLATION, "Excessively large number of partitions per request.");
  }
  return {};
}

Result<void> check_name(const Context& context, const std::string& name) {
  const image::Topics& topics = context.image.topics;
  if (topics.ids.contains(name)) return fail(ErrorCode::TOPIC_ALREADY_EXISTS, "Topic '{}' already exists.", name);
  TRY_VOID(validate_topic_name(name));
  if (!image::has_collision_characters(name)) return {};
  const std::string unified = image::unify_collision_characters(name);
  const auto other = topics.colliding.lower_bound(std::pair(unified, std::string()));
  if (other != topics.colliding.end() && other->key.first == unified) {
    return fail(ErrorCode::INVALID_TOPIC_EXCEPTION, "Topic '{}' collides with existing topic: {}", name, other->key.second);
  }
  return {};
}

Result<config::ConfigMap> check_configs(const Context& context, const Topic& topic) {
  std::vector<std::string> nulls;
  std::vector<config::Change> changes;
  std::set<std::string_view> seen;
  for (const auto& each : topic.configs) {
    if (!each.value) nulls.push_back(each.name);
    else changes.push_back({.key = each.name, .operation = config::Operation::SET, .value = each.value});
  }
  if (!nulls.empty()) return fail(ErrorCode::INVALID_CONFIG, "Null value not supported for topic configs: {}", fmt::join(nulls, ","));
  // A key that comes twice: the last one counts.
  std::vector<config::Change> last;
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (seen.insert(change->key).second) last.push_back(*change);
  }
  std::ranges::reverse(last);
  const config::Resource resource{config::ResourceType::TOPIC, topic.name};
  TRY(auto settings, config::alter_incrementally(resource, {}, last, *context.settings.server));
  TRY_VOID(check_change_allowed(context, resource, {}, settings));
  return settings;
}

Result<std::vector<PartitionState>> manual_partitions(const Context& context, const Topic& topic) {
  if (topic.replication_factor != -1) {
    return fail(ErrorCode::INVALID_REQUEST, "A manual partition assignment was specified, but replication factor was not set to -1.");
  }
  if (topic.num_partitions != -1) {
    return fail(ErrorCode::INVALID_REQUEST, "A manual partition assignment was specified, but numPartitions was not set to -1.");
  }
  std::map<int32_t, PartitionState> by_index;
  std::optional<size_t> replication_factor;
  for (const auto& assignment : topic.assignments) {
    if (by_index.contains(assignment.partition_index)) {
      return fail(ErrorCode::INVALID_REPLICA_ASSIGNMENT, "Found multiple manual partition assignments for partition {}", assignment.partition_index);
    }
    TRY_VOID(validate_assignment(context, assignment.broker_ids, replication_factor));
    replication_factor = assignment.broker_ids.size();
    auto state = new_partition(context, node_ids(assignment.broker_ids));
    if (!state) {
      return fail(ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                  "All brokers specified in the manual partition assignment for partition {} are fenced or in controlled shutdown.", assignment.partition_index);
    }
    by_index.emplace(assignment.partition_index, std::move(*state));
  }
  std::vector<PartitionState> partitions;
  for (auto& [index, state] : by_index) {
    if (index != static_cast<int32_t>(partitions.size())) {
      return fail(ErrorCode::INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence");
    }
    partitions.push_back(std::move(state));
  }
  return partitions;
}

Result<void> make_partitions(const Context& context, const Topic& topic, const PartitionSink& sink) {
  if (!topic.assignments.empty()) {
    TRY(const auto partitions, manual_partitions(context, topic));
    for (const PartitionState& partition : partitions) sink(partition);
    return {};
  }
  if (topic.replication_factor < -1 || topic.replication_factor == 0) {
    return fail(ErrorCode::INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0, or -1 to use the default value.");
  }
  if (topic.num_partitions < -1 || topic.num_partitions == 0) {
    return fail(ErrorCode::INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.");
  }
  const config::Values& values = context.settings.server->values;
  const int32_t count = topic.num_partitions == -1 ? static_cast<int32_t>(values.integer("num.partitions")) : topic.num_partitions;
  const int16_t factor = topic.replication_factor == -1 ? static_cast<int16_t>(values.integer("default.replication.factor")) : topic.replication_factor;
  return place_partitions(context, count, factor, sink);
}

void describe(const Context& context, const config::ConfigMap& settings, int32_t partitions, int16_t replication_factor, TopicResult& result) {
  if (!context.allowed(AclOperation::DESCRIBE_CONFIGS, AclResourceType::TOPIC, result.name)) {
    result.topic_config_error_code = number(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    return;
  }
  result.num_partitions = partitions;
  result.replication_factor = replication_factor;
  const image::Configs& configs = context.image.configs;
  const config::DynamicSettings dynamic{configs.of_cluster(), configs.of_broker(context.settings.node_id)};
  const auto work_out = [&] {
    TopicDefaults::Configs described;
    for (config::Entry& entry : config::describe_topic(*context.settings.server, dynamic, settings)) {
      auto& out = described.emplace_back();
      out.name = std::move(entry.name);
      out.value = std::move(entry.value);
      out.config_source = static_cast<int8_t>(entry.source);
      out.is_sensitive = entry.sensitive;
    }
    return described;
  };
  if (settings.empty() && context.topic_defaults != nullptr) result.configs = context.topic_defaults->get(dynamic.cluster, dynamic.broker, work_out);
  else result.configs = work_out();
}

// The records go behind those that are there; when it fails, some may be left over.
Result<TopicResult> create_topic(const Context& context, const Topic& topic, MetadataRecords& records) {
  TRY_VOID(check_name(context, topic.name));
  TRY(const auto settings, check_configs(context, topic));
  const TopicId id(context.random.uuid());
  wire::TopicRecord record;
  record.name = topic.name;
  record.topic_id = id.value;
  add(records, std::move(record));
  append_config_records(context, {config::ResourceType::TOPIC, topic.name}, {}, settings, records);
  int32_t partitions = 0;
  int16_t replication_factor = 0;
  records.reserve(records.size() + static_cast<size_t>(std::clamp(topic.num_partitions, 0, 1000)));
  TRY_VOID(make_partitions(context, topic, [&](const PartitionState& partition) {
    records.push_back(image::partition_record({id, partitions++}, partition, context.metadata_version(), context.elr_enabled()));
    replication_factor = static_cast<int16_t>(partition.replicas.size());
  }));
  TRY_VOID(context.charge_mutations(static_cast<size_t>(partitions)));
  TopicResult result;
  result.name = topic.name;
  result.topic_id = id.value;
  result.error_message.reset();
  describe(context, settings, partitions, replication_factor, result);
  return result;
}

}  // namespace

Result<void> validate_topic_name(std::string_view name) {
  constexpr size_t length_max = 249;
  const auto refused = [&](std::string_view why) { return fail(ErrorCode::INVALID_TOPIC_EXCEPTION, "Topic name is invalid: {}", why); };
  if (name.empty()) return refused("the empty string is not allowed");
  if (name == "." || name == "..") return refused(fmt::format("'{}' is not allowed", name));
  if (name.size() > length_max) return refused(fmt::format("the length of '{}' is longer than the max allowed length {}", name, length_max));
  const bool good = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
  if (!good) return refused(fmt::format("'{}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name));
  return {};
}

Result<void> validate_assignment(const Context& context, const std::vector<int32_t>& replicas, std::optional<size_t> replication_factor) {
  const auto refused = [](std::string why) { return fail(ErrorCode::INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes {}", why); };
  if (replicas.empty()) return refused("an empty replica list.");
  std::vector<int32_t> sorted = replicas;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    const image::BrokerRegistration* broker = context.image.cluster.broker(NodeId(sorted[i]));
    if (broker == nullptr) return refused(fmt::format("broker {}, but no such broker is registered.", sorted[i]));
    if (broker->all_directories_cordoned()) return refused(fmt::format("broker {}, but all its log directories are cordoned.", sorted[i]));
    if (i > 0 && sorted[i] == sorted[i - 1]) return refused(fmt::format("the broker {} more than once.", sorted[i]));
  }
  if (replication_factor && replicas.size() != *replication_factor) {
    return refused(fmt::format("a partition with {} replica(s), but this is not consistent with previous partitions, which have {} replica(s).",
                               replicas.size(), *replication_factor));
  }
  return {};
}

ControllerResult create_topics(const Context& context, const wire::CreateTopicsRequest& request) {
  std::map<std::string_view, int> times;
  for (const Topic& topic : request.topics) ++times[topic.name];
  const bool may_create_all = context.allowed_on_cluster(AclOperation::CREATE);

  // Names that come twice, are never to be made or may not be made by this client are not looked at further; their answers
  // come last.
  wire::CreateTopicsRequest checked = request;
  wire::CreateTopicsResponse response;
  std::vector<TopicResult> late;
  std::erase_if(checked.topics, [&](const Topic& topic) {
    if (times[topic.name] > 1) return true;
    if (topic.name == metadata_topic_name) {
      late.push_back(refused(topic.name, {ErrorCode::INVALID_REQUEST, fmt::format("Creation of internal topic {} is prohibited.", metadata_topic_name)}));
      return true;
    }
    if (!may_create_all && !context.allowed(AclOperation::CREATE, AclResourceType::TOPIC, topic.name)) {
      late.push_back(refused(topic.name, {ErrorCode::TOPIC_AUTHORIZATION_FAILED, "Authorization failed."}));
      return true;
    }
    return false;
  });

  ControllerResult result{.atomic = true};
  const auto refuse_all = [&](const Error& error) {
    result.records.clear();
    response.topics.clear();
    for (const Topic& topic : checked.topics) response.topics.push_back(refused(topic.name, error));
    checked.topics.clear();
  };
  // Its time was over before it was looked at.
  if (request.timeout_ms <= 0) refuse_all({ErrorCode::REQUEST_TIMED_OUT, "The request timed out."});
  if (const auto total = check_partition_total(context, checked); !total) refuse_all(total.error());
  for (const Topic& topic : checked.topics) {
    if (result.records.size() > records_per_request_max) break;
    const size_t before = result.records.size();
    auto created = create_topic(context, topic, result.records);
    if (!created) result.records.resize(before);
    if (created) {
      result.notes.push_back(fmt::format("{} topic {} with {} partition(s), id {}", request.validate_only ? "Could create" : "Creating", topic.name,
                                         created->num_partitions, created->topic_id));
      response.topics.push_back(std::move(*created));
    } else {
      result.notes.push_back(fmt::format("Topic {} is not created: {}", topic.name, created.error().message));
      response.topics.push_back(refused(topic.name, created.error()));
    }
  }
  if (result.records.size() > records_per_request_max) refuse_all(error_of(ErrorCode::POLICY_VIOLATION));
  for (const auto& [name, count] : times) {
    if (count > 1) response.topics.push_back(refused(std::string(name), {ErrorCode::INVALID_REQUEST, "Duplicate topic name."}));
  }
  std::ranges::move(late, std::back_inserter(response.topics));
  if (request.validate_only) result.records.clear();
  response.throttle_time_ms = context.throttle_ms();
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace castellan::controller

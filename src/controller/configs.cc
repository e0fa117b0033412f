// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/configs.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "config/table.h"
#include "controller/topics.h"
#include "controller/topics.h"
#include "wire/messages/alter_configs_request.h"
#include "wire/messages/alter_configs_response.h"
#include "wire/messages/incremental_alter_configs_request.h"
#include "wire/messages/incremental_alter_configs_response.h"

namespace castellan::controller {

namespace {

using config::ConfigMap;
using config::Resource;
using config::ResourceType;

constexpr std::string_view min_isr_key = "min.insync.replicas";
constexpr std::string_view cordoned_key = "cordoned.log.dirs";

std::optional<std::string_view> value_of(const ConfigMap& settings, std::string_view key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

Result<void> check_authorized(const Context& context, const Resource& resource) {
  switch (resource.type) {
    case ResourceType::BROKER:
    case ResourceType::CLIENT_METRICS:
      if (context.allowed_on_cluster(AclOperation::ALTER_CONFIGS)) return {};
      return unexpected(error_of(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
    case ResourceType::TOPIC:
      if (context.allowed(AclOperation::ALTER_CONFIGS, AclResourceType::TOPIC, resource.name)) return {};
      return unexpected(error_of(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    case ResourceType::GROUP:
      if (context.allowed(AclOperation::ALTER_CONFIGS, AclResourceType::GROUP, resource.name)) return {};
      return unexpected(error_of(ErrorCode::GROUP_AUTHORIZATION_FAILED));
    default: return fail(ErrorCode::INVALID_REQUEST, "Unexpected resource type {}.", static_cast<int>(resource.type));
  }
}

Result<void> check_exists(const Context& context, const Resource& resource) {
  if (resource.type == ResourceType::TOPIC && !context.image.topics.ids.contains(resource.name)) {
    TRY_VOID(validate_topic_name(resource.name));
    return fail(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "The topic '{}' does not exist.", resource.name);
  }
  if (resource.type == ResourceType::BROKER && !resource.name.empty()) {
    int32_t number = -1;
    std::from_chars(resource.name.data(), resource.name.data() + resource.name.size(), number);  // validate_resource has looked at it
    const NodeId id(number);
    const bool known = context.image.cluster.broker(id) != nullptr || context.image.cluster.controller(id) != nullptr ||
                       std::ranges::find(context.voters, id) != context.voters.end();
    if (!known) return fail(ErrorCode::BROKER_ID_NOT_REGISTERED, "No node with id {} found.", number);
  }
  return {};
}

struct Alteration {
  Resource resource;
  std::vector<config::Change> changes;
};

std::vector<std::string> keys_of(const std::vector<config::Change>& changes) {
  std::vector<std::string> keys;
  for (const auto& change : changes) keys.push_back(change.key);
  return keys;
}

// One resource. `wholly`: what is not named is deleted.
Result<MetadataRecords> alter(const Context& context, const Alteration& alteration, bool wholly) {
  const Resource& resource = alteration.resource;
  TRY_VOID(check_authorized(context, resource));
  TRY_VOID(config::validate_changes(alteration.changes));
  TRY_VOID(config::validate_resource(resource));
  if (resource.type == ResourceType::TOPIC) TRY_VOID(validate_topic_name(resource.name));
  const config::ServerConfig& server = *context.settings.server;
  const ConfigMap& before = context.image.configs.of({static_cast<int8_t>(resource.type), resource.name});
  TRY(const ConfigMap after, wholly ? config::alter_wholly(resource, before, alteration.changes, server)
                                    : config::alter_incrementally(resource, before, alteration.changes, server));
  TRY_VOID(check_change_allowed(context, resource, before, after));
  TRY_VOID(check_exists(context, resource));
  MetadataRecords records;
  append_config_records(context, resource, before, after, records, keys_of(alteration.changes));
  return records;
}

// The answers are in the order of the request. A resource that comes twice is not changed; a controller answers for it once,
// a broker for each time, and what a broker forwards is answered as it would.
template <class Response, class Request, class ToChange>
ControllerResult alter_all(const Context& context, const Request& request, bool wholly, ToChange&& to_change) {
  ControllerResult result{.atomic = true};
  Response response;
  using Id = std::pair<int8_t, std::string>;
  std::map<Id, int> times;
  for (const auto& each : request.resources) ++times[{each.resource_type, each.resource_name}];
  std::set<Id> answered;
  for (const auto& each : request.resources) {
    const Id id{each.resource_type, each.resource_name};
    if (!answered.insert(id).second && !context.forwarded) continue;
    Alteration alteration{.resource = {static_cast<ResourceType>(each.resource_type), each.resource_name}};
    for (const auto& change : each.configs) alteration.changes.push_back(to_change(change));
    Result<MetadataRecords> records = times[id] > 1 ? fail(ErrorCode::INVALID_REQUEST, "Duplicate resource.") : alter(context, alteration, wholly);
    auto& out = response.responses.emplace_back();
    out.resource_type = each.resource_type;
    out.resource_name = each.resource_name;
    take_part(result, std::move(records), out);
  }
  if (request.validate_only) result.records.clear();
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace

Result<void> check_change_allowed(const Context& context, const Resource& resource, const ConfigMap& before, const ConfigMap& after) {
  if (resource.type != ResourceType::BROKER) return {};
  const auto old_min_isr = value_of(before, min_isr_key);
  const auto new_min_isr = value_of(after, min_isr_key);
  if (context.elr_enabled() && old_min_isr != new_min_isr) {
    if (!resource.name.empty()) return fail(ErrorCode::INVALID_CONFIG, "Broker-level {} cannot be altered while ELR is enabled.", min_isr_key);
    if (!new_min_isr) return fail(ErrorCode::INVALID_CONFIG, "Cluster-level {} cannot be removed while ELR is enabled.", min_isr_key);
  }
  const auto old_cordoned = value_of(before, cordoned_key);
  const auto new_cordoned = value_of(after, cordoned_key);
  if (old_cordoned == new_cordoned) return {};
  if (!context.metadata_version().cordoned_log_dirs_supported()) {
    return fail(ErrorCode::INVALID_CONFIG, "The {} configuration value cannot be set because it requires metadata.version >= 4.3-IV0", cordoned_key);
  }
  if (!context.forwarded && new_cordoned) {  // only the broker itself knows which directories it has
    const auto known = config::split_list(old_cordoned.value_or(""));
    for (const std::string& directory : config::split_list(*new_cordoned)) {
      if (std::ranges::find(known, directory) != known.end()) continue;
      return fail(ErrorCode::INVALID_CONFIG, "When updating {} via controllers, the new value must be a subset of the current configuration value.", cordoned_key);
    }
  }
  return {};
}

void append_config_records(const Context& context, const Resource& resource, const ConfigMap& before, const ConfigMap& after, MetadataRecords& records,
                           const std::vector<std::string>& touched) {
  std::set<std::string> keys;
  for (const auto& [key, value] : before) {
    if (value_of(after, key) != value) keys.insert(key);
  }
  for (const auto& [key, value] : after) {
    if (value_of(before, key) != value) keys.insert(key);
  }
  if (resource.type == ResourceType::BROKER) keys.insert(touched.begin(), touched.end());
  for (const std::string& key : keys) {
    wire::ConfigRecord record;
    record.resource_type = static_cast<int8_t>(resource.type);
    record.resource_name = resource.name;
    record.name = key;
    record.value.reset();
    if (const auto value = value_of(after, key)) record.value = std::string(*value);
    add(records, std::move(record));
  }
  if (context.elr_enabled() && keys.contains(std::string(min_isr_key))) {
    wire::ClearElrRecord record;
    if (resource.type == ResourceType::TOPIC) record.topic_name = resource.name;
    add(records, std::move(record));
  }
}

ControllerResult incremental_alter_configs(const Context& context, const wire::IncrementalAlterConfigsRequest& request) {
  return alter_all<wire::IncrementalAlterConfigsResponse>(context, request, false, [](const auto& change) {
    return config::Change{.key = change.name, .operation = static_cast<config::Operation>(change.config_operation), .value = change.value};
  });
}

ControllerResult alter_configs(const Context& context, const wire::AlterConfigsRequest& request) {
  return alter_all<wire::AlterConfigsResponse>(context, request, true, [](const auto& change) {
    return config::Change{.key = change.name, .operation = config::Operation::SET, .value = change.value};
  });
}

}  // namespace castellan::controller

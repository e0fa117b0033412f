// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// DescribeConfigs (B143 to B145) and ListConfigResources (KIP-1142): settings as they are, from the table of keys.

#include <charconv>

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/loggers.h"
#include "broker/names.h"
#include "config/describe.h"
#include "image/image.h"
#include "wire/messages/describe_configs_request.h"
#include "wire/messages/describe_configs_response.h"
#include "wire/messages/list_config_resources_request.h"
#include "wire/messages/list_config_resources_response.h"

namespace castellan::broker {

namespace {

using config::ResourceType;

Result<void> require_own_id(const Broker& broker, const std::string& name) {
  int32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size()) {
    return fail(ErrorCode::INVALID_REQUEST, "Broker id must be an integer, but it is: {}", name);
  }
  if (id != broker.node_id().value) {
    return fail(ErrorCode::INVALID_REQUEST, "Unexpected broker id, expected {} or empty string, but received {}", broker.node_id(), name);
  }
  return {};
}

std::vector<config::Entry> describe_loggers(const config::Names* names) {
  std::vector<config::Entry> entries;
  for (const auto& logger : loggers()) {
    if (names && std::ranges::find(*names, logger.name) == names->end()) continue;
    config::Entry entry;
    entry.name = logger.name;
    entry.value = logger.level;
    entry.source = config::Source::DYNAMIC_BROKER_LOGGER_CONFIG;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<config::Entry>> describe(const Broker& broker, ResourceType type, const std::string& name, const config::Names* names) {
  const auto& image = broker.image();
  const auto& server = broker.static_server();
  const config::DynamicSettings dynamic{image.configs.of_cluster(), image.configs.of_broker(broker.node_id())};
  switch (type) {
    case ResourceType::TOPIC:
      if (!is_valid_topic_name(name)) return fail(ErrorCode::INVALID_TOPIC_EXCEPTION, "The topic name '{}' is not valid", name);
      if (!image.topics.by_name(name)) return fail(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "The topic '{}' does not exist", name);
      return config::describe_topic(server, dynamic, image.configs.of_topic(name), names);
    case ResourceType::BROKER:
      if (name.empty()) return config::describe_cluster(dynamic.cluster, names);
      TRY_VOID(require_own_id(broker, name));
      return config::describe_broker(server, dynamic, names);
    case ResourceType::BROKER_LOGGER:
      if (name.empty()) return fail(ErrorCode::INVALID_REQUEST, "Broker id must not be empty");
      TRY_VOID(require_own_id(broker, name));
      return describe_loggers(names);
    case ResourceType::CLIENT_METRICS:
      if (name.empty()) return fail(ErrorCode::INVALID_REQUEST, "Client metrics subscription name must not be empty");
      return config::describe_client_metrics(image.configs.of({static_cast<int8_t>(type), name}), names);
    case ResourceType::GROUP:
      if (name.empty()) return fail(ErrorCode::INVALID_REQUEST, "Group name must not be empty");
      return config::describe_group(server, dynamic, image.configs.of_group(name), names);
    case ResourceType::UNKNOWN:
      break;
  }
  return fail(ErrorCode::INVALID_REQUEST, "Unsupported resource type: {}", static_cast<int>(type));
}

}  // namespace

void handle_describe_configs(Broker& broker, RequestPtr request, wire::DescribeConfigsRequest& body) {
  wire::DescribeConfigsResponse response;
  for (const auto& resource : body.resources) {
    auto& result = response.results.emplace_back();
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    result.error_message.reset();
    // No names at all is asking for all.
    const bool all = !resource.configuration_keys || resource.configuration_keys->empty();
    auto entries = describe(broker, static_cast<ResourceType>(resource.resource_type), resource.resource_name,
                            all ? nullptr : &*resource.configuration_keys);
    if (!entries) {
      result.error_code = static_cast<int16_t>(entries.error().code);
      result.error_message = entries.error().message;
      continue;
    }
    for (auto& entry : *entries) {
      auto& to = result.configs.emplace_back();
      to.name = std::move(entry.name);
      to.value = std::move(entry.value);
      to.read_only = entry.read_only;
      to.config_source = static_cast<int8_t>(entry.source);
      to.is_sensitive = entry.sensitive;
      to.config_type = static_cast<int8_t>(entry.type);
      to.documentation.reset();
      if (body.include_documentation && request->version() >= 3) to.documentation = std::string(entry.documentation);
      if (!body.include_synonyms) continue;
      for (auto& synonym : entry.synonyms) {
        auto& to_synonym = to.synonyms.emplace_back();
        to_synonym.name = std::move(synonym.name);
        to_synonym.value = std::move(synonym.value);
        to_synonym.source = static_cast<int8_t>(synonym.source);
      }
    }
  }
  reply(*request, response);
}

void handle_list_config_resources(Broker& broker, RequestPtr request, wire::ListConfigResourcesRequest& body) {
  wire::ListConfigResourcesResponse response;
  const auto& image = broker.image();
  std::set<ResourceType> wanted;
  const std::initializer_list<ResourceType> known = {ResourceType::TOPIC, ResourceType::BROKER, ResourceType::BROKER_LOGGER,
                                                     ResourceType::CLIENT_METRICS, ResourceType::GROUP};
  if (request->version() == 0) {
    wanted.insert(ResourceType::CLIENT_METRICS);
  } else if (body.resource_types.empty()) {
    wanted = known;
  }
  for (const int8_t type : body.resource_types) {
    const auto resource_type = static_cast<ResourceType>(type);
    if (std::ranges::find(known, resource_type) == known.end()) {
      response.error_code = static_cast<int16_t>(ErrorCode::UNSUPPORTED_VERSION);
      return reply(*request, response);
    }
    wanted.insert(resource_type);
  }
  const auto add = [&](ResourceType type, const std::string& name) {
    response.config_resources.push_back({.resource_name = name, .resource_type = static_cast<int8_t>(type)});
  };
  if (wanted.contains(ResourceType::TOPIC)) {
    for (const auto& [name, id] : image.topics.ids) add(ResourceType::TOPIC, name);
  }
  for (const auto type : {ResourceType::BROKER, ResourceType::BROKER_LOGGER}) {
    if (!wanted.contains(type)) continue;
    for (const auto& [id, registration] : image.cluster.brokers) add(type, std::to_string(id.value));
  }
  for (const auto& [resource, settings] : image.configs.resources) {
    const auto type = static_cast<ResourceType>(resource.type);
    if ((type == ResourceType::CLIENT_METRICS || type == ResourceType::GROUP) && wanted.contains(type)) add(type, resource.name);
  }
  reply(*request, response);
}

}  // namespace castellan::broker

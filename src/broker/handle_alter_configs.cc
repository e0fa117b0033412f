// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// IncrementalAlterConfigs and AlterConfigs (B146): levels of this node's loggers are set here, its own settings are
// checked here, and what is left goes to the controller.

#include <charconv>

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/loggers.h"
#include "config/alter.h"
#include "image/image.h"
#include "wire/messages/alter_configs_request.h"
#include "wire/messages/alter_configs_response.h"
#include "wire/messages/incremental_alter_configs_request.h"
#include "wire/messages/incremental_alter_configs_response.h"

namespace castellan::broker {

namespace {

using config::Operation;
using config::ResourceType;

std::vector<config::Change> changes_of(const wire::IncrementalAlterConfigsRequest::AlterConfigsResource& resource) {
  std::vector<config::Change> changes;
  for (const auto& config : resource.configs) {
    changes.push_back({config.name, static_cast<Operation>(config.config_operation), config.value});
  }
  return changes;
}

std::vector<config::Change> changes_of(const wire::AlterConfigsRequest::AlterConfigsResource& resource) {
  std::vector<config::Change> changes;
  for (const auto& config : resource.configs) changes.push_back({config.name, Operation::SET, config.value});
  return changes;
}

Result<void> require_own_id(const Broker& broker, const std::string& name) {
  int32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size()) {
    return fail(ErrorCode::INVALID_REQUEST, "Node id must be an integer, but it is: {}", name);
  }
  if (id != broker.node_id().value) {
    return fail(ErrorCode::INVALID_REQUEST, "Unexpected broker id, expected {}, but received {}", broker.node_id(), name);
  }
  return {};
}

Result<void> apply_logger_changes(const Broker& broker, const std::string& name, std::span<const config::Change> changes, bool validate_only) {
  TRY_VOID(require_own_id(broker, name));
  for (const auto& change : changes) {
    if (change.operation != Operation::SET) {
      return fail(ErrorCode::INVALID_REQUEST, "{} is not allowed for the BROKER_LOGGER resource",
                  change.operation == Operation::DELETE ? "DELETE" : change.operation == Operation::APPEND ? "APPEND" : "SUBTRACT");
    }
    TRY_VOID(check_logger_level(change.key, *change.value));
  }
  if (validate_only) return {};
  for (const auto& change : changes) set_logger_level(change.key, *change.value);
  return {};
}

enum class Form { incremental, whole };

// True when the resource is dealt with here; false when the controller decides.
Result<bool> preprocess(const Broker& broker, ResourceType type, const std::string& name, std::span<const config::Change> changes, Form form,
                        bool validate_only) {
  TRY_VOID(config::validate_changes(changes));
  switch (type) {
    case ResourceType::BROKER_LOGGER:
      if (form == Form::whole) break;
      TRY_VOID(apply_logger_changes(broker, name, changes, validate_only));
      return true;
    case ResourceType::BROKER: {
      if (!name.empty()) TRY_VOID(require_own_id(broker, name));
      const auto& configs = broker.image().configs;
      const auto& before = name.empty() ? configs.of_cluster() : configs.of_broker(broker.node_id());
      const config::Resource resource{type, name};
      auto after = form == Form::incremental ? config::alter_incrementally(resource, before, changes, broker.static_server())
                                             : config::alter_wholly(resource, before, changes, broker.static_server());
      if (!after) return unexpected(after.error());
      TRY_VOID(config::validate_broker_settings(resource, *after, broker.server()));
      TRY_VOID(config::refuse_unchangeable(before, *after));
      return false;
    }
    case ResourceType::TOPIC:
    case ResourceType::CLIENT_METRICS:
    case ResourceType::GROUP:
      return false;
    case ResourceType::UNKNOWN:
      break;
  }
  return fail(ErrorCode::INVALID_REQUEST, "Unknown resource type {}", static_cast<int>(type));
}

template <class To>
void set_result(To& to, const Result<void>& result) {
  to.error_code = static_cast<int16_t>(result ? ErrorCode::NONE : result.error().code);
  to.error_message.reset();
  if (!result) to.error_message = result.error().message;
}

template <class RequestBody, class ResponseBody>
void alter(Broker& broker, RequestPtr request, RequestBody& body, Form form) {
  std::map<std::pair<int8_t, std::string>, int> times;
  for (const auto& resource : body.resources) ++times[{resource.resource_type, resource.resource_name}];
  auto response = std::make_shared<ResponseBody>();
  RequestBody rest;
  rest.validate_only = body.validate_only;
  for (auto& resource : body.resources) {
    Result<bool> done = true;
    if (times[{resource.resource_type, resource.resource_name}] > 1) {
      done = fail(ErrorCode::INVALID_REQUEST, "Each resource must appear at most once.");
    } else {
      const auto changes = changes_of(resource);
      done = preprocess(broker, static_cast<ResourceType>(resource.resource_type), resource.resource_name, changes, form, body.validate_only);
    }
    if (done && !*done) {
      rest.resources.push_back(std::move(resource));
      continue;
    }
    auto& to = response->responses.emplace_back();
    to.resource_type = resource.resource_type;
    to.resource_name = resource.resource_name;
    set_result(to, done ? Result<void>{} : Result<void>(unexpected(done.error())));
  }
  if (rest.resources.empty()) return reply(*request, *response);

  const int16_t version = request->version();
  auto encoded = wire::encode_to_bytes(rest, version);
  if (!encoded) return request->close(encoded.error().message);
  broker.surroundings().controller.call(
      {.api_key = RequestBody::info().key, .api_version = version, .body = std::move(*encoded), .principal = "User:ANONYMOUS",
       .client_host = request->client_host(), .client_id = request->start().client_id},
      [request, response, version, rest = std::move(rest)](Result<Bytes> answer) {
        auto decided = answer ? wire::decode_exactly<ResponseBody>(version, *answer, wire::DecodeMode::LENIENT) : unexpected(answer.error());
        if (decided) {
          for (auto& each : decided->responses) response->responses.push_back(std::move(each));
        } else {
          for (const auto& resource : rest.resources) {
            auto& to = response->responses.emplace_back();
            to.resource_type = resource.resource_type;
            to.resource_name = resource.resource_name;
            set_result(to, unexpected(decided.error()));
          }
        }
        reply(*request, *response);
      });
}

}  // namespace

void handle_incremental_alter_configs(Broker& broker, RequestPtr request, wire::IncrementalAlterConfigsRequest& body) {
  alter<wire::IncrementalAlterConfigsRequest, wire::IncrementalAlterConfigsResponse>(broker, std::move(request), body, Form::incremental);
}

void handle_alter_configs(Broker& broker, RequestPtr request, wire::AlterConfigsRequest& body) {
  alter<wire::AlterConfigsRequest, wire::AlterConfigsResponse>(broker, std::move(request), body, Form::whole);
}

}  // namespace castellan::broker

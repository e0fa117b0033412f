// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/brokers.h"

#include <algorithm>
#include <set>

#include "base/planted_fault.h"
#include "config/server_config.h"
#include "controller/replicas.h"
#include "image/endpoints.h"
#include "wire/messages/broker_heartbeat_request.h"
#include "wire/messages/broker_heartbeat_response.h"
#include "wire/messages/broker_registration_request.h"
#include "wire/messages/broker_registration_response.h"
#include "wire/messages/controller_registration_request.h"
#include "wire/messages/controller_registration_response.h"
#include "wire/messages/unregister_broker_request.h"
#include "wire/messages/unregister_broker_response.h"
#include "wire/messages/unregister_controller_request.h"
#include "wire/messages/unregister_controller_response.h"

namespace castellan::controller {

namespace {

using image::BrokerRegistration;

Result<void> check_directories(const Context& context, const wire::BrokerRegistrationRequest& request) {
  if (request.log_dirs.empty()) return fail(ErrorCode::INVALID_REGISTRATION, "No directories specified in request");
  std::set<Uuid> seen;
  for (const Uuid& id : request.log_dirs) {
    if (id.is_reserved()) return fail(ErrorCode::INVALID_REGISTRATION, "Reserved directory ID in request");
    if (!seen.insert(id).second) return fail(ErrorCode::INVALID_REGISTRATION, "Duplicate directory ID in request");
    const NodeId* owner = context.image.cluster.directory_owners.find(DirectoryId(id));
    if (owner != nullptr && owner->value != request.broker_id) {
      return fail(ErrorCode::INVALID_REGISTRATION, "Broker {} is already registered with directory {}", *owner, id);
    }
  }
  return {};
}

// Every finalized level must be within what the broker supports; what it does not name, it supports at level 0 only.
Result<void> check_features(const Context& context, const wire::BrokerRegistrationRequest& request) {
  image::FeatureLevels finalized = context.image.features.levels;
  if (context.image.features.metadata_version) finalized.insert_or_assign(std::string(image::metadata_version_feature), context.metadata_version().level());
  finalized.insert_or_assign(std::string(image::kraft_version_feature), context.kraft_version);
  const auto check = [&](std::string_view name, int16_t min, int16_t max) -> Result<void> {
    const auto found = finalized.find(name);
    const int16_t level = found == finalized.end() ? int16_t{0} : found->second;
    if (level >= min && level <= max) return {};
    return fail(ErrorCode::UNSUPPORTED_VERSION, "Unable to register because the broker does not support finalized version {} of {}. The broker wants a version between {} and {}, inclusive.",
                level, name, min, max);
  };
  std::set<std::string_view> named;
  for (const auto& feature : request.features) {
    TRY_VOID(check(feature.name, feature.min_supported_version, feature.max_supported_version));
    named.insert(feature.name);
  }
  if (!named.contains(image::metadata_version_feature)) {
    return fail(ErrorCode::INVALID_REGISTRATION, "Request features do not contain '{}'", image::metadata_version_feature);
  }
  for (const auto& [name, level] : finalized) {
    if (level != 0 && !named.contains(name)) TRY_VOID(check(name, 0, 0));
  }
  return {};
}

template <class Listener>
Result<void> check_listeners(const std::vector<Listener>& listeners) {
  for (const Listener& listener : listeners) {
    if (listener.security_protocol < 0 || listener.security_protocol > static_cast<int16_t>(config::SecurityProtocol::SASL_SSL)) {
      return fail(ErrorCode::INVALID_REGISTRATION, "Listener {} has the unknown security protocol {}", listener.name, listener.security_protocol);
    }
  }
  return {};
}

Result<void> check_registration(const Context& context, const Heartbeats& heartbeats, const wire::BrokerRegistrationRequest& request) {
  if (request.cluster_id != context.settings.cluster_id) {
    return fail(ErrorCode::INCONSISTENT_CLUSTER_ID, "Expected cluster ID {}, but got cluster ID {}", context.settings.cluster_id, request.cluster_id);
  }
  const NodeId id(request.broker_id);
  const BrokerRegistration* existing = context.image.cluster.broker(id);
  // Whoever was registered under this process's own id is dead: the directories are locked by us.
  const bool own_predecessor = context.from_this_process && id == context.settings.node_id;
  if (existing != nullptr && existing->incarnation_id.value != request.incarnation_id && !own_predecessor &&
      heartbeats.has_session(id, existing->epoch, context.now.monotonic)) {
    return fail(ErrorCode::DUPLICATE_BROKER_REGISTRATION,
                "Another broker is registered with that broker id. If the broker was recently restarted this should self-resolve once the heartbeat "
                "manager expires the broker's session.");
  }
  if (request.is_migrating_zk_broker) return fail(ErrorCode::BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers.");
  if (context.metadata_version().directory_assignment_supported()) TRY_VOID(check_directories(context, request));
  TRY_VOID(check_listeners(request.listeners));
  return check_features(context, request);
}

template <class To, class From>
std::vector<To> features_as(const std::vector<From>& from) {
  std::vector<To> to;
  for (const From& each : from) {
    To& out = to.emplace_back();
    out.name = each.name;
    out.min_supported_version = each.min_supported_version;
    out.max_supported_version = each.max_supported_version;
  }
  return to;
}

template <class Response>
ControllerResult refused_with_message(const Error& error) {
  Response response;
  response.error_code = number(error.code);
  response.error_message = error.message;
  return {.reply = Reply::of(std::move(response))};
}

}  // namespace

Result<const BrokerRegistration*> broker_at_epoch(const Image& image, int32_t id, int64_t epoch) {
  const BrokerRegistration* broker = image.cluster.broker(NodeId(id));
  if (broker == nullptr) return fail(ErrorCode::STALE_BROKER_EPOCH, "No broker registration found for broker id {}", id);
  if (broker->epoch.value != epoch) {
    return fail(ErrorCode::STALE_BROKER_EPOCH, "Expected broker epoch {}, but got broker epoch {}", broker->epoch, epoch);
  }
  return broker;
}

ControllerResult register_broker(const Context& context, Heartbeats& heartbeats, const wire::BrokerRegistrationRequest& request, int16_t version) {
  ControllerResult result;
  wire::BrokerRegistrationResponse response;
  if (const auto checked = check_registration(context, heartbeats, request); !checked) {
    response.error_code = number(checked.error().code);
    result.notes.push_back(fmt::format("Registration of broker {} is refused: {}", request.broker_id, checked.error().message));
    result.reply = Reply::of(std::move(response));
    return result;
  }
  const NodeId id(request.broker_id);
  const image::MetadataVersion metadata_version = context.metadata_version();
  const BrokerRegistration* existing = context.image.cluster.broker(id);
  const bool same_incarnation = existing != nullptr && existing->incarnation_id.value == request.incarnation_id;

  wire::RegisterBrokerRecord record;
  record.broker_id = request.broker_id;
  record.incarnation_id = request.incarnation_id;
  record.end_points = image::endpoints_as<wire::RegisterBrokerRecord::BrokerEndpoint>(request.listeners);
  record.features = features_as<wire::RegisterBrokerRecord::BrokerFeature>(request.features);
  record.rack = request.rack;
  if (metadata_version.directory_assignment_supported()) record.log_dirs = request.log_dirs;
  if (same_incarnation) {
    record.broker_epoch = existing->epoch.value;
    record.fenced = existing->fenced;
    record.in_controlled_shutdown = existing->in_controlled_shutdown;
  } else {
    // Stored "none" is -2 where the request's is -1, so that none never counts as a clean shutdown (C940).
    const int64_t previous = existing != nullptr ? existing->epoch.value : -2;
    const bool clean = version >= 3 && previous == request.previous_broker_epoch;
    append_broker_restarted(context, id, clean, result.records);
    record.broker_epoch = planted(Fault::broker_epoch_reused) && existing != nullptr ? existing->epoch.value : context.next_offset.value;
    if (existing != nullptr) heartbeats.end_session(id, existing->epoch);
  }
  heartbeats.register_broker(id, record.fenced, !same_incarnation);
  response.broker_epoch = record.broker_epoch;
  result.notes.push_back(fmt::format("Broker {} registers {}, epoch {}, {} partition change(s) to clean up", id,
                                     same_incarnation ? "again" : existing != nullptr ? "a new incarnation" : "for the first time", record.broker_epoch,
                                     result.records.size()));
  add(result.records, std::move(record), metadata_version.register_broker_record_version());
  result.reply = Reply::of(std::move(response));
  return result;
}

ControllerResult broker_heartbeat(const Context& context, Heartbeats& heartbeats, const wire::BrokerHeartbeatRequest& request) {
  ControllerResult result;
  wire::BrokerHeartbeatResponse response;
  const auto found = broker_at_epoch(context.image, request.broker_id, request.broker_epoch);
  if (!found) {
    response.error_code = number(found.error().code);
    result.reply = Reply::of(std::move(response));
    return result;
  }
  const BrokerRegistration& broker = **found;
  heartbeats.touch_session(broker.id, broker.epoch, context.now.monotonic);
  const Offset registered = *context.image.cluster.registration_offsets.find(broker.id);
  const BrokerControlState current = heartbeats.state(broker.id);
  const BrokerControlState next = heartbeats.next_state(broker.id, {.want_fence = request.want_fence,
                                                                    .want_shut_down = request.want_shut_down,
                                                                    .metadata_offset = Offset(request.current_metadata_offset),
                                                                    .registration_offset = registered,
                                                                    .leads_something = request.want_shut_down && leads_something(context, broker.id)});
  if (next != current) {
    switch (next) {
      case BrokerControlState::FENCED:
      case BrokerControlState::SHUTDOWN_NOW:
        append_broker_fenced(context, broker, result.records);
        result.notes.push_back(fmt::format("Broker {} is {} as it asked", broker.id, next == BrokerControlState::FENCED ? "fenced" : "let go"));
        break;
      case BrokerControlState::UNFENCED:
        append_broker_unfenced(context, broker, result.records);
        result.notes.push_back(fmt::format("Broker {} is unfenced: it has caught up with its registration at {}", broker.id, registered));
        break;
      case BrokerControlState::CONTROLLED_SHUTDOWN:
        append_broker_in_controlled_shutdown(context, broker, result.records);
        result.notes.push_back(fmt::format("Broker {} begins a controlled shutdown", broker.id));
        break;
    }
  }
  if (context.metadata_version().directory_assignment_supported()) {
    append_directories_offline(context, broker, request.offline_log_dirs, result.records);
  }
  if (context.metadata_version().cordoned_log_dirs_supported() && request.cordoned_log_dirs) {
    std::vector<DirectoryId> cordoned;
    for (const Uuid& id : *request.cordoned_log_dirs) cordoned.emplace_back(id);
    if (broker.cordoned_log_dirs != cordoned) {
      wire::BrokerRegistrationChangeRecord record;
      record.broker_id = broker.id.value;
      record.broker_epoch = broker.epoch.value;
      record.cordoned_log_dirs = request.cordoned_log_dirs;
      add(result.records, std::move(record), 3);
    }
  }
  heartbeats.update(broker.id, next, Offset(request.current_metadata_offset));
  if (next == BrokerControlState::CONTROLLED_SHUTDOWN) {
    heartbeats.begin_controlled_shutdown(broker.id, context.next_offset + (static_cast<int64_t>(result.records.size()) - 1));
  }
  // Who was told to go is gone: the next incarnation need not wait for the session to run out.
  if (next == BrokerControlState::SHUTDOWN_NOW) heartbeats.end_session(broker.id, broker.epoch);
  response.is_caught_up = request.current_metadata_offset >= registered.value;
  response.is_fenced = next == BrokerControlState::FENCED || next == BrokerControlState::SHUTDOWN_NOW;
  response.should_shut_down = next == BrokerControlState::SHUTDOWN_NOW;
  result.reply = Reply::of(std::move(response));
  return result;
}

ControllerResult fence_one_stale_broker(const Context& context, Heartbeats& heartbeats) {
  ControllerResult result;
  while (const auto expired = heartbeats.take_expired(context.now.monotonic)) {
    const auto& [id, epoch] = *expired;
    const BrokerRegistration* broker = context.image.cluster.broker(id);
    if (broker == nullptr || broker->epoch != epoch) continue;  // an older registration's
    const bool was_fenced = broker->fenced;
    heartbeats.fence(id);
    if (was_fenced) continue;
    append_broker_fenced(context, *broker, result.records);
    result.notes.push_back(fmt::format("Broker {} at epoch {} is fenced: its session has run out", id, epoch));
    break;
  }
  return result;
}

ControllerResult unregister_broker(const Context& context, const wire::UnregisterBrokerRequest& request) {
  const BrokerRegistration* broker = context.image.cluster.broker(NodeId(request.broker_id));
  if (broker == nullptr) {
    return refused_with_message<wire::UnregisterBrokerResponse>(
        {ErrorCode::BROKER_ID_NOT_REGISTERED, fmt::format("Broker ID {} is not currently registered", request.broker_id)});
  }
  ControllerResult result;
  append_broker_unregistered(context, *broker, result.records);
  if (result.records.size() > records_per_request_max) {
    return refused_with_message<wire::UnregisterBrokerResponse>(error_of(ErrorCode::POLICY_VIOLATION));
  }
  wire::UnregisterBrokerResponse response;
  response.error_message.reset();
  result.reply = Reply::of(std::move(response));
  return result;
}

ControllerResult register_controller(const Context& context, const wire::ControllerRegistrationRequest& request) {
  using Response = wire::ControllerRegistrationResponse;
  if (!context.metadata_version().controller_registration_supported()) {
    return refused_with_message<Response>({ErrorCode::UNSUPPORTED_VERSION, "The current MetadataVersion is too old to support controller registrations."});
  }
  if (const auto checked = check_listeners(request.listeners); !checked) return refused_with_message<Response>(checked.error());
  wire::RegisterControllerRecord record;
  record.controller_id = request.controller_id;
  record.incarnation_id = request.incarnation_id;
  record.end_points = image::endpoints_as<wire::RegisterControllerRecord::ControllerEndpoint>(request.listeners);
  record.features = features_as<wire::RegisterControllerRecord::ControllerFeature>(request.features);
  ControllerResult result{.atomic = true};
  add(result.records, std::move(record));
  Response response;
  response.error_message.reset();
  result.reply = Reply::of(std::move(response));
  return result;
}

ControllerResult unregister_controller(const Context& context, const wire::UnregisterControllerRequest& request) {
  using Response = wire::UnregisterControllerResponse;
  const NodeId id(request.controller_id);
  if (std::ranges::find(context.voters, id) != context.voters.end()) {
    return refused_with_message<Response>({ErrorCode::INVALID_REQUEST, fmt::format("Controller {} is a voter of the quorum; remove it from the voters first.", id)});
  }
  if (!context.metadata_version().controller_unregistration_supported()) {
    return refused_with_message<Response>({ErrorCode::UNSUPPORTED_VERSION, "The current MetadataVersion is too old to support controller unregistration."});
  }
  if (context.image.cluster.controller(id) == nullptr) {
    return refused_with_message<Response>({ErrorCode::CONTROLLER_ID_NOT_REGISTERED, fmt::format("Controller ID {} is not currently registered.", id)});
  }
  wire::UnregisterControllerRecord record;
  record.controller_id = request.controller_id;
  ControllerResult result{.atomic = true};
  add(result.records, std::move(record));
  Response response;
  response.error_message.reset();
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace castellan::controller

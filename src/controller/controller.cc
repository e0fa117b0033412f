// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/controller.h"

#include <algorithm>

#include "controller/activation.h"
#include "controller/alter_partition.h"
#include "controller/brokers.h"
#include "controller/configs.h"
#include "controller/delegation_tokens.h"
#include "controller/elections.h"
#include "controller/features.h"
#include "controller/producer_ids.h"
#include "controller/quotas.h"
#include "controller/reassignments.h"
#include "controller/scram.h"
#include "controller/topics.h"
#include "wire/messages/allocate_producer_ids_request.h"
#include "wire/messages/alter_client_quotas_request.h"
#include "wire/messages/alter_configs_request.h"
#include "wire/messages/alter_partition_reassignments_request.h"
#include "wire/messages/alter_partition_request.h"
#include "wire/messages/alter_user_scram_credentials_request.h"
#include "wire/messages/assign_replicas_to_dirs_request.h"
#include "wire/messages/broker_heartbeat_request.h"
#include "wire/messages/broker_registration_request.h"
#include "wire/messages/controller_registration_request.h"
#include "wire/messages/create_partitions_request.h"
#include "wire/messages/create_topics_request.h"
#include "wire/messages/delete_topics_request.h"
#include "wire/messages/elect_leaders_request.h"
#include "wire/messages/incremental_alter_configs_request.h"
#include "wire/messages/list_partition_reassignments_request.h"
#include "wire/messages/unregister_broker_request.h"
#include "wire/messages/unregister_controller_request.h"
#include "wire/messages/update_features_request.h"

namespace castellan::controller {

namespace {

using Handler = ControllerResult (*)(const Context&, Heartbeats&, const Request&);

struct Api {
  wire::ApiKey key;
  // What a client must be allowed to do to the cluster; nothing: the handler asks for each topic or resource.
  std::optional<AclOperation> operation;
  Handler handle;
};

template <class M, ControllerResult (*function)(const Context&, const M&)>
ControllerResult plain(const Context& context, Heartbeats&, const Request& request) {
  return function(context, request.as<M>());
}

template <class M, ControllerResult (*function)(const Context&, const M&, int16_t)>
ControllerResult versioned(const Context& context, Heartbeats&, const Request& request) {
  return function(context, request.as<M>(), request.version);
}

ControllerResult registration(const Context& context, Heartbeats& heartbeats, const Request& request) {
  return register_broker(context, heartbeats, request.as<wire::BrokerRegistrationRequest>(), request.version);
}

ControllerResult heartbeat(const Context& context, Heartbeats& heartbeats, const Request& request) {
  return broker_heartbeat(context, heartbeats, request.as<wire::BrokerHeartbeatRequest>());
}

// ACLs need an authorizer; a node with one does not start yet (config::check_supported).
ControllerResult no_authorizer(const Context&, Heartbeats&, const Request& request) {
  return {.reply = error_reply(request, {ErrorCode::SECURITY_DISABLED, "No Authorizer is configured."})};
}

ControllerResult create_token(const Context& context, Heartbeats&, const Request& request) { return create_delegation_token(context, request.version); }

template <ControllerResult (*function)(const Context&)>
ControllerResult without_message(const Context& context, Heartbeats&, const Request&) {
  return function(context);
}

constexpr Api apis[] = {
    {wire::ApiKey::BROKER_HEARTBEAT, AclOperation::CLUSTER_ACTION, heartbeat},
    {wire::ApiKey::BROKER_REGISTRATION, AclOperation::CLUSTER_ACTION, registration},
    {wire::ApiKey::ALTER_PARTITION, AclOperation::CLUSTER_ACTION, versioned<wire::AlterPartitionRequest, alter_partition>},
    {wire::ApiKey::ASSIGN_REPLICAS_TO_DIRS, AclOperation::CLUSTER_ACTION, plain<wire::AssignReplicasToDirsRequest, assign_replicas_to_dirs>},
    {wire::ApiKey::ALLOCATE_PRODUCER_IDS, AclOperation::CLUSTER_ACTION, plain<wire::AllocateProducerIdsRequest, allocate_producer_ids>},
    {wire::ApiKey::CONTROLLER_REGISTRATION, AclOperation::CLUSTER_ACTION, plain<wire::ControllerRegistrationRequest, register_controller>},
    {wire::ApiKey::CREATE_TOPICS, std::nullopt, plain<wire::CreateTopicsRequest, create_topics>},
    {wire::ApiKey::DELETE_TOPICS, std::nullopt, versioned<wire::DeleteTopicsRequest, delete_topics>},
    {wire::ApiKey::CREATE_PARTITIONS, std::nullopt, plain<wire::CreatePartitionsRequest, create_partitions>},
    {wire::ApiKey::ALTER_CONFIGS, std::nullopt, plain<wire::AlterConfigsRequest, alter_configs>},
    {wire::ApiKey::INCREMENTAL_ALTER_CONFIGS, std::nullopt, plain<wire::IncrementalAlterConfigsRequest, incremental_alter_configs>},
    {wire::ApiKey::ELECT_LEADERS, AclOperation::ALTER, versioned<wire::ElectLeadersRequest, elect_leaders>},
    {wire::ApiKey::ALTER_PARTITION_REASSIGNMENTS, AclOperation::ALTER, plain<wire::AlterPartitionReassignmentsRequest, alter_partition_reassignments>},
    {wire::ApiKey::LIST_PARTITION_REASSIGNMENTS, AclOperation::DESCRIBE, plain<wire::ListPartitionReassignmentsRequest, list_partition_reassignments>},
    {wire::ApiKey::ALTER_CLIENT_QUOTAS, AclOperation::ALTER_CONFIGS, plain<wire::AlterClientQuotasRequest, alter_client_quotas>},
    {wire::ApiKey::ALTER_USER_SCRAM_CREDENTIALS, AclOperation::ALTER, plain<wire::AlterUserScramCredentialsRequest, alter_user_scram_credentials>},
    {wire::ApiKey::UPDATE_FEATURES, AclOperation::ALTER, versioned<wire::UpdateFeaturesRequest, update_features>},
    {wire::ApiKey::UNREGISTER_BROKER, AclOperation::ALTER, plain<wire::UnregisterBrokerRequest, unregister_broker>},
    {wire::ApiKey::UNREGISTER_CONTROLLER, AclOperation::ALTER, plain<wire::UnregisterControllerRequest, unregister_controller>},
    {wire::ApiKey::CREATE_ACLS, AclOperation::ALTER, no_authorizer},
    {wire::ApiKey::DELETE_ACLS, AclOperation::ALTER, no_authorizer},
    {wire::ApiKey::CREATE_DELEGATION_TOKEN, std::nullopt, create_token},
    {wire::ApiKey::RENEW_DELEGATION_TOKEN, std::nullopt, without_message<renew_delegation_token>},
    {wire::ApiKey::EXPIRE_DELEGATION_TOKEN, std::nullopt, without_message<expire_delegation_token>},
};

const Api* find(wire::ApiKey key) {
  const auto* found = std::ranges::find(apis, key, &Api::key);
  return found == std::end(apis) ? nullptr : found;
}

Duration milliseconds(const Settings& settings, std::string_view key) { return settings.server->milliseconds(key); }

}  // namespace

Controller::Controller(Settings settings, uint64_t seed)
    : settings_(std::move(settings)), random_(seed), heartbeats_(milliseconds(settings_, "broker.session.timeout.ms")),
      mutation_quotas_(settings_.server->values.integer("controller.quota.window.num"), settings_.server->values.integer("controller.quota.window.size.seconds")) {
  const config::Values& values = settings_.server->values;
  no_op_.period = milliseconds(settings_, "metadata.max.idle.interval.ms");
  if (values.boolean("auto.leader.rebalance.enable")) {
    balance_leaders_.period = std::chrono::seconds(values.integer("leader.imbalance.check.interval.seconds"));
  }
  elect_unclean_.period = milliseconds(settings_, "unclean.leader.election.interval.ms");
}

namespace {

// A request that may wait for nothing has run out of time before it is looked at, as in Kafka's queue, unless it asks for
// nothing (C42, C320).
bool out_of_time(const Request& request) {
  switch (request.api) {
    case wire::ApiKey::CREATE_TOPICS: {
      const auto& message = request.as<wire::CreateTopicsRequest>();
      return message.timeout_ms <= 0 && !message.topics.empty();
    }
    case wire::ApiKey::DELETE_TOPICS: {
      const auto& message = request.as<wire::DeleteTopicsRequest>();
      return message.timeout_ms <= 0 && !(message.topics.empty() && message.topic_names.empty());
    }
    case wire::ApiKey::CREATE_PARTITIONS: {
      const auto& message = request.as<wire::CreatePartitionsRequest>();
      return message.timeout_ms <= 0 && !message.topics.empty();
    }
    case wire::ApiKey::ELECT_LEADERS: {
      const auto& message = request.as<wire::ElectLeadersRequest>();
      return message.timeout_ms <= 0 && !(message.topic_partitions && message.topic_partitions->empty());
    }
    case wire::ApiKey::ALTER_PARTITION_REASSIGNMENTS: {
      const auto& message = request.as<wire::AlterPartitionReassignmentsRequest>();
      return message.timeout_ms <= 0 && !message.topics.empty();
    }
    default: return false;
  }
}

}  // namespace

namespace {

// The first version whose clients know of THROTTLING_QUOTA_EXCEEDED; nothing for what is not limited (C45).
std::optional<int16_t> strict_mutations_from(wire::ApiKey api) {
  switch (api) {
    case wire::ApiKey::CREATE_TOPICS: return 6;
    case wire::ApiKey::DELETE_TOPICS: return 5;
    case wire::ApiKey::CREATE_PARTITIONS: return 3;
    default: return std::nullopt;
  }
}

}  // namespace

bool Controller::handles(wire::ApiKey api) { return find(api) != nullptr; }

void Controller::claim(const Image& tip, MonotonicTime now) {
  active_ = true;
  heartbeats_.claim(tip.cluster, now);
  for (Timer* timer : {&no_op_, &balance_leaders_, &elect_unclean_}) timer->start(now);
}

void Controller::renounce() {
  active_ = false;
  heartbeats_.claim({}, {});
  mutation_quotas_.clear();
}

Context Controller::context(const Image& tip, Now now, Offset next_offset) {
  return {.image = tip, .settings = settings_, .now = now, .next_offset = next_offset, .random = random_, .topic_defaults = &topic_defaults_};
}

Result<ControllerResult> Controller::activate(const Context& context, bool open_transaction, MetadataRecords bootstrap) {
  CHECK(active_);
  return activation_records(context, open_transaction, std::move(bootstrap));
}

ControllerResult Controller::handle(const Request& request, const Context& context) {
  const Api* api = find(request.api);
  CHECK(api != nullptr, "API {} is not the controller's", static_cast<int>(request.api));
  if (!active_) return {.reply = error_reply(request, error_of(ErrorCode::NOT_CONTROLLER))};
  if (api->operation && !context.allowed_on_cluster(*api->operation)) {
    return {.reply = error_reply(request, error_of(ErrorCode::CLUSTER_AUTHORIZATION_FAILED))};
  }
  if (out_of_time(request)) return {.reply = error_reply(request, error_of(ErrorCode::REQUEST_TIMED_OUT))};
  Context charged = context;
  MutationQuota mutations;
  if (const auto strict_from = strict_mutations_from(request.api); strict_from && !context.from_this_process) {
    mutations = mutation_quotas_.open(context.image, context.principal, context.client_id, request.version >= *strict_from, context.now.monotonic);
    charged.mutations = &mutations;
  }
  ControllerResult result = api->handle(charged, heartbeats_, request);
  if (const auto fits = check_batch_size(result); !fits) {
    return {.reply = error_reply(request, fits.error()), .notes = {fits.error().message}};
  }
  CHECK(!result.atomic || result.records.size() <= records_per_request_max, "one batch of {} records", result.records.size());
  return result;
}

void Controller::touch_session(NodeId broker, BrokerEpoch epoch, MonotonicTime now) {
  if (active_) heartbeats_.touch_session(broker, epoch, now);
}

std::optional<ControllerResult> Controller::tick(const Context& context) {
  if (!active_) return std::nullopt;
  const MonotonicTime now = context.now.monotonic;
  if (heartbeats_.next_expiry() <= now) {
    ControllerResult fenced = fence_one_stale_broker(context, heartbeats_);
    if (!fenced.records.empty()) return fenced;
  }
  const auto elections = [&](Timer& timer, PeriodicElections run) -> ControllerResult {
    timer.start(now);
    if (run.more) timer.next = now + std::chrono::milliseconds(10);
    return {.records = std::move(run.records)};
  };
  if (balance_leaders_.due(now)) return elections(balance_leaders_, balance_leaders(context));
  if (elect_unclean_.due(now)) return elections(elect_unclean_, elect_unclean_leaders(context));
  if (no_op_.due(now)) {
    no_op_.start(now);
    ControllerResult result;
    add(result.records, wire::NoOpRecord{});
    return result;
  }
  return std::nullopt;
}

MonotonicTime Controller::next_deadline() const {
  if (!active_) return MonotonicTime::never();
  return std::min({heartbeats_.next_expiry(), no_op_.next, balance_leaders_.next, elect_unclean_.next});
}

}  // namespace castellan::controller

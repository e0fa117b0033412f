// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// FindCoordinator (B140 to B142): which broker keeps a group. Asking is what creates __consumer_offsets.

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/metadata_view.h"
#include "broker/names.h"
#include "broker/topic_creation.h"
#include "group/partitioner.h"
#include "wire/messages/find_coordinator_request.h"
#include "wire/messages/find_coordinator_response.h"

namespace castellan::broker {

namespace {

using Coordinator = wire::FindCoordinatorResponse::Coordinator;

// Numbers of the protocol.
constexpr int8_t group_key = 0;
constexpr int8_t transaction_key = 1;

Coordinator refused(std::string key, ErrorCode error, std::string message) {
  Coordinator answer;
  answer.key = std::move(key);
  answer.node_id = answer.port = -1;
  answer.error_code = static_cast<int16_t>(error);
  answer.error_message = std::move(message);
  return answer;
}

Coordinator find(Broker& broker, const Request& request, int8_t key_type, std::string key) {
  if (key_type == transaction_key) {
    // No client tries again after this one, and all show the message.
    return refused(std::move(key), ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "This node does not support transactions yet.");
  }
  if (key_type != group_key) {
    return refused(std::move(key), ErrorCode::INVALID_REQUEST, fmt::format("This node has no coordinators for keys of type {}.", key_type));
  }
  const MetadataView view{broker.image(), request.listener()};
  const auto* topic = view.image.topics.by_name(offsets_topic);
  if (!topic || topic->partitions.empty()) {
    broker.topic_creation().create_on_demand(std::string(offsets_topic));
    return refused(std::move(key), ErrorCode::COORDINATOR_NOT_AVAILABLE, "__consumer_offsets is being created.");
  }
  const auto* partition = topic->partition(group::partition_of(key, static_cast<int32_t>(topic->partitions.size())));
  const auto* endpoint = partition ? view.endpoint(partition->leader()) : nullptr;
  if (!endpoint) return refused(std::move(key), ErrorCode::COORDINATOR_NOT_AVAILABLE, "The coordinator's partition has no leader.");
  Coordinator answer;
  answer.key = std::move(key);
  answer.node_id = partition->leader().value;
  answer.host = endpoint->host;
  answer.port = endpoint->port;
  return answer;
}

}  // namespace

void handle_find_coordinator(Broker& broker, RequestPtr request, wire::FindCoordinatorRequest& body) {
  wire::FindCoordinatorResponse response;
  if (request->version() >= 4) {
    for (auto& key : body.coordinator_keys) response.coordinators.push_back(find(broker, *request, body.key_type, std::move(key)));
    return reply(*request, response);
  }
  auto answer = find(broker, *request, body.key_type, std::move(body.key));
  response.error_code = answer.error_code;
  response.error_message = std::move(answer.error_message);
  response.node_id = answer.node_id;
  response.host = std::move(answer.host);
  response.port = answer.port;
  reply(*request, response);
}

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Metadata (B132 to B139): what the image knows of topics, as a client of this listener sees it. Unknown topics are
// created on the way when both sides allow it; the answer does not wait for that.

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/metadata_view.h"
#include "broker/names.h"
#include "broker/topic_creation.h"
#include "wire/messages/metadata_request.h"
#include "wire/messages/metadata_response.h"

namespace castellan::broker {

namespace {

using Response = wire::MetadataResponse;

struct Versioned {
  bool hides_missing_replicas;       // v0 knows no offline replicas: it leaves them out and says so by an error
  bool knows_listener_not_found;     // v6
};

std::vector<int32_t> maybe_alive(const MetadataView& view, std::span<const NodeId> replicas, bool only_alive) {
  if (!only_alive) return to_numbers(replicas);
  std::vector<int32_t> numbers;
  for (const NodeId replica : replicas) {
    if (view.alive(replica)) numbers.push_back(replica.value);
  }
  return numbers;
}

Response::MetadataResponsePartition describe(const MetadataView& view, int32_t index, const image::Partition& partition, Versioned versioned) {
  Response::MetadataResponsePartition described;
  described.partition_index = index;
  described.leader_epoch = partition.leader_epoch().value;
  described.replica_nodes = maybe_alive(view, partition.replicas(), versioned.hides_missing_replicas);
  described.isr_nodes = maybe_alive(view, partition.isr(), versioned.hides_missing_replicas);
  described.offline_replicas = view.offline_replicas(partition);
  ErrorCode error = ErrorCode::NONE;
  if (!view.endpoint(partition.leader())) {
    const bool registered = view.image.cluster.broker(partition.leader());
    error = registered && versioned.knows_listener_not_found ? ErrorCode::LISTENER_NOT_FOUND : ErrorCode::LEADER_NOT_AVAILABLE;
    described.leader_id = -1;
  } else {
    described.leader_id = partition.leader().value;
    if (described.replica_nodes.size() < partition.replicas().size() || described.isr_nodes.size() < partition.isr().size()) {
      error = ErrorCode::REPLICA_NOT_AVAILABLE;
    }
  }
  described.error_code = static_cast<int16_t>(error);
  return described;
}

Response::MetadataResponseTopic describe(const MetadataView& view, const image::Topic& topic, Versioned versioned) {
  Response::MetadataResponseTopic described;
  described.name = topic.name;
  described.topic_id = topic.id.value;
  described.is_internal = is_internal_topic(topic.name);
  for (const auto& [index, partition] : topic.partitions) described.partitions.push_back(describe(view, index, partition, versioned));
  return described;
}

Response::MetadataResponseTopic refused(ErrorCode error, std::optional<std::string> name, Uuid id = {}) {
  Response::MetadataResponseTopic topic;
  topic.error_code = static_cast<int16_t>(error);
  topic.name = std::move(name);
  topic.topic_id = id;
  topic.is_internal = topic.name && is_internal_topic(*topic.name);
  return topic;
}

// The topics of the answer, in the order of the request but each once.
void describe_topics(Broker& broker, Request& request, wire::MetadataRequest& body, const MetadataView& view, Response& response) {
  const Versioned versioned{request.version() == 0, request.version() >= 6};
  const bool all = !body.topics || (request.version() == 0 && body.topics->empty());
  if (all) {
    for (const auto& [name, id] : view.image.topics.ids) {
      const auto* topic = view.image.topics.topic(id);
      if (!topic->partitions.empty()) response.topics.push_back(describe(view, *topic, versioned));
    }
    return;
  }
  bool by_id = false;
  for (const auto& topic : *body.topics) by_id |= !topic.topic_id.is_zero();
  std::set<std::string> unknown_names;
  std::set<std::pair<std::string, Uuid>> seen;
  for (const auto& asked : *body.topics) {
    if (by_id && asked.topic_id.is_zero()) continue;  // with ids in the request, names alone are not looked at
    if (!by_id && !asked.name) {
      response.topics.push_back(refused(ErrorCode::UNKNOWN_TOPIC_ID, ""));
      continue;
    }
    if (!seen.emplace(by_id ? "" : *asked.name, asked.topic_id).second) continue;
    const auto* topic = by_id ? view.image.topics.topic(TopicId{asked.topic_id}) : view.image.topics.by_name(*asked.name);
    if (topic && !topic->partitions.empty()) {
      response.topics.push_back(describe(view, *topic, versioned));
    } else if (by_id) {
      response.topics.push_back(refused(ErrorCode::UNKNOWN_TOPIC_ID, std::nullopt, asked.topic_id));
    } else {
      unknown_names.insert(*asked.name);
    }
  }
  const bool create = broker.server().values.boolean("auto.create.topics.enable") && (request.version() < 4 || body.allow_auto_topic_creation);
  for (const auto& name : unknown_names) {
    auto error = is_valid_topic_name(name) ? ErrorCode::UNKNOWN_TOPIC_OR_PARTITION : ErrorCode::INVALID_TOPIC_EXCEPTION;
    if (create && error == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) error = broker.topic_creation().create_on_demand(name);
    response.topics.push_back(refused(error, name));
  }
}

// Ids came with version 10 in answers, with version 12 in requests (KIP-516): one of them refuses a whole older request.
void refuse_ids(Request& request, const wire::MetadataRequest& body) {
  Response response;
  response.cluster_id.reset();
  response.controller_id = -1;
  for (const auto& topic : *body.topics) {
    response.topics.push_back(refused(ErrorCode::INVALID_REQUEST, topic.name.value_or(""), topic.topic_id));
    response.topics.back().is_internal = false;
  }
  reply(request, response);
}

}  // namespace

void handle_metadata(Broker& broker, RequestPtr request, wire::MetadataRequest& body) {
  if (body.topics && request->version() < 12) {
    const auto bad = [](const auto& topic) { return !topic.name || !topic.topic_id.is_zero(); };
    if (std::ranges::any_of(*body.topics, bad)) return refuse_ids(*request, body);
  }
  const MetadataView view{broker.image(), request->listener()};
  const int16_t version = request->version();
  Response response;
  const auto brokers = view.alive_brokers();
  for (const auto* alive : brokers) {
    const auto* endpoint = alive->endpoint(view.listener);
    response.brokers.push_back({.node_id = alive->id.value, .host = endpoint->host, .port = endpoint->port, .rack = alive->rack});
  }
  response.cluster_id = broker.options().cluster_id;
  // Any broker does: it passes controller requests on, so clients spread.
  response.controller_id = brokers.empty() ? -1 : brokers[broker.prng().below(brokers.size())]->id.value;
  describe_topics(broker, *request, body, view, response);
  if (version >= 8 && version <= 10 && body.include_cluster_authorized_operations) {
    response.cluster_authorized_operations = all_cluster_operations;
  }
  if (version >= 8 && body.include_topic_authorized_operations) {
    for (auto& topic : response.topics) topic.topic_authorized_operations = all_topic_operations;
  }
  reply(*request, response);
}

}  // namespace castellan::broker

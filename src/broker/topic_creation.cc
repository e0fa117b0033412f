// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/topic_creation.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/names.h"
#include "wire/messages/create_topics_request.h"
#include "wire/messages/create_topics_response.h"

namespace castellan::broker {

namespace {

constexpr int16_t create_topics_version = 7;
using Topic = wire::CreateTopicsRequest::CreatableTopic;

void set(Topic& topic, std::string name, std::string value) {
  auto& setting = topic.configs.emplace_back();
  setting.name = std::move(name);
  setting.value = std::move(value);
}

Topic offsets_settings(const config::Values& values) {
  Topic topic;
  topic.num_partitions = static_cast<int32_t>(values.integer("offsets.topic.num.partitions"));
  topic.replication_factor = static_cast<int16_t>(values.integer("offsets.topic.replication.factor"));
  set(topic, "cleanup.policy", "compact");
  set(topic, "compression.type", "producer");
  set(topic, "segment.bytes", std::to_string(values.integer("offsets.topic.segment.bytes")));
  return topic;
}

Topic transactions_settings(const config::Values& values) {
  Topic topic;
  topic.num_partitions = static_cast<int32_t>(values.integer("transaction.state.log.num.partitions"));
  topic.replication_factor = static_cast<int16_t>(values.integer("transaction.state.log.replication.factor"));
  set(topic, "cleanup.policy", "compact");
  set(topic, "compression.type", "uncompressed");
  set(topic, "min.insync.replicas", std::to_string(values.integer("transaction.state.log.min.isr")));
  set(topic, "segment.bytes", std::to_string(values.integer("transaction.state.log.segment.bytes")));
  set(topic, "unclean.leader.election.enable", "false");
  return topic;
}

Topic share_state_settings(const config::Values& values) {
  Topic topic;
  topic.num_partitions = static_cast<int32_t>(values.integer("share.coordinator.state.topic.num.partitions"));
  topic.replication_factor = static_cast<int16_t>(values.integer("share.coordinator.state.topic.replication.factor"));
  set(topic, "cleanup.policy", "delete");
  set(topic, "compression.type", "producer");
  set(topic, "min.insync.replicas", std::to_string(values.integer("share.coordinator.state.topic.min.isr")));
  set(topic, "retention.ms", "-1");
  set(topic, "segment.bytes", std::to_string(values.integer("share.coordinator.state.topic.segment.bytes")));
  return topic;
}

// -1 leaves the number to the controller's own settings; a broker whose file names one says so.
Topic ordinary_settings(const config::ServerConfig& server) {
  Topic topic;
  topic.num_partitions = server.given.contains("num.partitions") ? static_cast<int32_t>(server.values.integer("num.partitions")) : -1;
  topic.replication_factor = server.given.contains("default.replication.factor")
                                 ? static_cast<int16_t>(server.values.integer("default.replication.factor"))
                                 : int16_t{-1};
  return topic;
}

Topic settings_of(const std::string& name, const config::ServerConfig& server) {
  if (name == offsets_topic) return offsets_settings(server.values);
  if (name == transactions_topic) return transactions_settings(server.values);
  if (name == share_state_topic) return share_state_settings(server.values);
  return ordinary_settings(server);
}

}  // namespace

ErrorCode TopicCreation::create_on_demand(const std::string& name) {
  if (!is_valid_topic_name(name)) return ErrorCode::INVALID_TOPIC_EXCEPTION;
  if (!under_way_.insert(name).second) return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  wire::CreateTopicsRequest body;
  body.timeout_ms = static_cast<int32_t>(broker_.server().values.integer("request.timeout.ms"));
  body.topics.push_back(settings_of(name, broker_.server()));
  body.topics.back().name = name;
  ControllerRequest request{.api_key = wire::CreateTopicsRequest::info().key, .api_version = create_topics_version, .body = {},
                            .principal = {}, .client_host = {}, .client_id = {}};
  auto encoded = wire::encode_to_bytes(body, create_topics_version);
  CHECK(encoded.has_value(), "{}", encoded.error().message);
  request.body = std::move(*encoded);
  broker_.surroundings().controller.call(std::move(request), [this, name](Result<Bytes> answer) {
    under_way_.erase(name);
    if (!answer) {
      spdlog::warn("topic {} was not created on demand: {}", name, answer.error().message);
      return;
    }
    auto response = wire::decode_exactly<wire::CreateTopicsResponse>(create_topics_version, *answer, wire::DecodeMode::LENIENT);
    if (!response) {
      spdlog::warn("topic {} was not created on demand: the controller's answer cannot be read: {}", name, response.error().message);
      return;
    }
    for (const auto& topic : response->topics) {
      const auto error = static_cast<ErrorCode>(topic.error_code);
      if (error == ErrorCode::NONE || error == ErrorCode::TOPIC_ALREADY_EXISTS) continue;
      spdlog::warn("topic {} was not created on demand: {}: {}", name, error_name(error), topic.error_message.value_or(""));
    }
  });
  return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
}

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <map>

#include "controller/topics.h"
#include "wire/messages/delete_topics_request.h"
#include "wire/messages/delete_topics_response.h"

namespace castellan::controller {

namespace {

using TopicResult = wire::DeleteTopicsResponse::DeletableTopicResult;

// What may be deleted, by id, with the name that the answer shows. The other topics have their answers already.
class Deletion {
 public:
  Deletion(const Context& context, const wire::DeleteTopicsRequest& request)
      : context_(context), may_delete_all_(context.allowed_on_cluster(AclOperation::DELETE)) {
    sort_out(request);
    resolve_ids();
    resolve_names();
  }

  const std::map<TopicId, std::string>& topics() const { return topics_; }

  void answer(std::optional<std::string> name, const Uuid& id, const Error& error) {
    TopicResult& result = responses_.emplace_back();
    result.name = std::move(name);
    result.topic_id = id;
    result.error_code = number(error.code);
    if (error.code != ErrorCode::NONE) result.error_message = error.message;
  }

  // In random order, so that places tell nothing about topics that the client may not see.
  std::vector<TopicResult> take_responses() {
    for (size_t i = responses_.size(); i > 1; --i) std::swap(responses_[i - 1], responses_[context_.random.below(i)]);
    return std::move(responses_);
  }

 private:
  void sort_out(const wire::DeleteTopicsRequest& request) {
    for (const std::string& name : request.topic_names) ++names_[name];
    for (const auto& topic : request.topics) {
      if (topic.name && topic.topic_id.is_zero()) ++names_[*topic.name];
      else if (topic.name) answer(topic.name, topic.topic_id, {ErrorCode::INVALID_REQUEST, "You may not specify both topic name and topic id."});
      else if (topic.topic_id.is_zero()) answer(std::nullopt, {}, {ErrorCode::INVALID_REQUEST, "Neither topic name nor id were specified."});
      else ++ids_[TopicId(topic.topic_id)];
    }
    for (const auto& [name, times] : names_) {
      if (times > 1) answer(name, {}, {ErrorCode::INVALID_REQUEST, "Duplicate topic name."});
    }
    for (const auto& [id, times] : ids_) {
      if (times > 1) answer(std::nullopt, id.value, {ErrorCode::INVALID_REQUEST, "Duplicate topic id."});
    }
  }

  void resolve_ids() {
    for (const auto& [id, times] : ids_) {
      if (times > 1) continue;
      const image::Topic* topic = context_.image.topics.topic(id);
      if (topic == nullptr) answer(std::nullopt, id.value, error_of(ErrorCode::UNKNOWN_TOPIC_ID));
      else if (may_delete(topic->name)) topics_.emplace(id, topic->name);
      else answer(may_describe(topic->name) ? std::optional(topic->name) : std::nullopt, id.value, error_of(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    }
  }

  void resolve_names() {
    for (const auto& [name, times] : names_) {
      if (times > 1) continue;
      const TopicId* id = context_.image.topics.ids.find(name);
      if (!may_describe(name)) {
        answer(name, {}, error_of(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
      } else if (id == nullptr) {
        answer(name, {}, error_of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
      } else if (!may_delete(name)) {
        answer(name, {}, error_of(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
      } else if (const auto given = ids_.find(*id); given != ids_.end()) {
        topics_.erase(*id);
        answer(name, id->value, {ErrorCode::INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied."});
      } else {
        topics_.emplace(*id, name);
      }
    }
  }

  bool may_delete(std::string_view name) const { return may_delete_all_ || context_.allowed(AclOperation::DELETE, AclResourceType::TOPIC, name); }
  bool may_describe(std::string_view name) const { return may_delete_all_ || context_.allowed(AclOperation::DESCRIBE, AclResourceType::TOPIC, name); }

  const Context& context_;
  const bool may_delete_all_;
  std::map<std::string, int> names_;
  std::map<TopicId, int> ids_;
  std::map<TopicId, std::string> topics_;
  std::vector<TopicResult> responses_;
};

}  // namespace

ControllerResult delete_topics(const Context& context, const wire::DeleteTopicsRequest& request, int16_t version) {
  wire::DeleteTopicsResponse response;
  if (!context.settings.server->values.boolean("delete.topic.enable")) {
    const Error error = version < 3 ? Error{ErrorCode::INVALID_REQUEST, "This version does not support topic deletion."}
                                    : error_of(ErrorCode::TOPIC_DELETION_DISABLED);
    const auto answer = [&](std::optional<std::string> name, const Uuid& id) {
      TopicResult& result = response.responses.emplace_back();
      result.name = std::move(name);
      result.topic_id = id;
      result.error_code = number(error.code);
      result.error_message = error.message;
    };
    for (const std::string& name : request.topic_names) answer(name, {});
    for (const auto& topic : request.topics) answer(topic.name, topic.topic_id);
    return {.reply = Reply::of(std::move(response))};
  }
  Deletion deletion(context, request);
  ControllerResult result{.atomic = true};
  for (const auto& [id, name] : deletion.topics()) {
    if (result.records.size() == records_per_request_max) {
      deletion.answer(name, id.value, error_of(ErrorCode::POLICY_VIOLATION));
      continue;
    }
    if (const auto charged = context.charge_mutations(context.image.topics.topic(id)->partitions.size()); !charged) {
      deletion.answer(name, id.value, charged.error());
      continue;
    }
    wire::RemoveTopicRecord record;
    record.topic_id = id.value;
    add(result.records, std::move(record));
    result.notes.push_back(fmt::format("Deleting topic {}, id {}", name, id));
    deletion.answer(name, id.value, {ErrorCode::NONE, {}});
  }
  response.responses = deletion.take_responses();
  response.throttle_time_ms = context.throttle_ms();
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace castellan::controller

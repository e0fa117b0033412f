// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/replies.h"

#include <algorithm>

namespace castellan::sim {

void Replies::committed(const image::MetadataRecord& record, int64_t offset) {
  if (const auto* topic = std::get_if<wire::TopicRecord>(&record.message)) {
    topics_[topic->name].push_back({offset, TopicId{topic->topic_id}});
    names_[TopicId{topic->topic_id}] = topic->name;
  } else if (const auto* removed = std::get_if<wire::RemoveTopicRecord>(&record.message)) {
    topics_[names_[TopicId{removed->topic_id}]].push_back({offset, std::nullopt});
  } else if (const auto* quota = std::get_if<wire::ClientQuotaRecord>(&record.message)) {
    if (!quota->entity.empty() && quota->entity[0].entity_name) quotas_[{*quota->entity[0].entity_name, static_cast<int64_t>(quota->value)}] = offset;
  } else if (const auto* ids = std::get_if<wire::ProducerIdsRecord>(&record.message)) {
    producer_ids_[ids->next_producer_id] = offset;
  } else if (const auto* broker = std::get_if<wire::RegisterBrokerRecord>(&record.message)) {
    // The same process that registers again keeps its epoch; nobody else gets it.
    const std::pair registered(broker->broker_id, broker->incarnation_id);
    const auto [known, is_new] = brokers_.emplace(broker->broker_epoch, registered);
    if (known->second != registered) report_.violate(name, "brokers {} and {} have the same epoch {}", known->second.first, broker->broker_id, broker->broker_epoch);
  }
}

void Replies::claim(const std::string& what, int64_t offset, int64_t asked_at) {
  if (offset < asked_at) return report_.violate(name, "{} is at offset {}, and was asked for when {} was committed", what, offset, asked_at);
  if (!claimed_.insert(offset).second) report_.violate(name, "{}: two answers for the record at offset {}", what, offset);
}

void Replies::topic_created(const std::string& topic, TopicId id, int64_t asked_at) {
  for (const Change& change : topics_[topic]) {
    if (change.id == id) return claim("topic " + topic, change.offset, asked_at);
  }
  report_.violate(name, "topic {} with id {} was acknowledged and is not committed", topic, id);
}

void Replies::topic_deleted(const std::string& topic, int64_t asked_at) {
  const auto& changes = topics_[topic];
  const auto found = std::ranges::find_if(changes, [&](const Change& change) { return !change.id && change.offset >= asked_at && !claimed_.contains(change.offset); });
  if (found == changes.end()) return report_.violate(name, "the deletion of topic {} was acknowledged and is not committed", topic);
  claim("deletion of topic " + topic, found->offset, asked_at);
}

bool Replies::was(const std::string& topic, bool there, int64_t from) const {
  const auto found = topics_.find(topic);
  bool state = false, any = false;
  if (found != topics_.end()) {
    for (const Change& change : found->second) {
      if (change.offset >= from) any |= state == there;
      state = change.id.has_value();
    }
  }
  return any || state == there;
}

void Replies::topic_exists(const std::string& topic, int64_t leads_from) {
  if (!was(topic, true, leads_from)) report_.violate(name, "topic {} is said to exist and did not since offset {}", topic, leads_from);
}

void Replies::topic_unknown(const std::string& topic, int64_t leads_from) {
  if (!was(topic, false, leads_from)) report_.violate(name, "topic {} is said to be unknown and existed since before offset {}", topic, leads_from);
}

void Replies::quota_set(const std::string& user, int64_t value, int64_t asked_at) {
  const auto found = quotas_.find({user, value});
  if (found == quotas_.end()) return report_.violate(name, "quota {} of {} was acknowledged and is not committed", value, user);
  claim("quota of " + user, found->second, asked_at);
}

void Replies::producer_ids(int64_t start, int32_t count, int64_t asked_at) {
  const auto found = producer_ids_.find(start + count);
  if (found == producer_ids_.end()) return report_.violate(name, "producer ids from {} were handed out and are not committed", start);
  claim(fmt::format("producer ids from {}", start), found->second, asked_at);
}

void Replies::broker_registered(int32_t broker, int64_t epoch, int64_t asked_at) {
  const auto found = brokers_.find(epoch);
  if (found == brokers_.end() || found->second.first != broker) return report_.violate(name, "broker {} was registered with epoch {}, which is not committed", broker, epoch);
  // The epoch is where its batch begins. Asked again under the same incarnation, it is told the same epoch.
  if (epoch < asked_at) report_.violate(name, "broker {} was registered with epoch {}, and asked for it when {} was committed", broker, epoch, asked_at);
}

}  // namespace castellan::sim

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/record.h"

#include "base/check.h"
#include "wire/codec.h"
#include "wire/messages/group_metadata_key.h"
#include "wire/messages/group_metadata_value.h"
#include "wire/messages/offset_commit_key.h"
#include "wire/messages/offset_commit_value.h"

namespace castellan::group {

namespace {

// What Apache Kafka 4.4 writes: older brokers of a cluster being upgraded can still read it.
constexpr int16_t group_metadata_version = 3;
constexpr int16_t offset_commit_version = 4;
constexpr int16_t offset_commit_version_with_expiry = 1;

// Keys and values both are an int16 (type or version) in front of the message.
template <class M>
Bytes with_number(int16_t number, const M& message, int16_t version) {
  wire::Writer writer;
  writer.put(number);
  const auto encoded = wire::encode(message, version, writer);
  CHECK(encoded.has_value(), "{}", encoded.error().message);
  return writer.take_bytes();
}

template <class M>
Bytes key_bytes(RecordType type, const M& message) {
  return with_number(static_cast<int16_t>(type), message, 0);
}

Bytes offset_key(const OffsetKey& key) {
  wire::OffsetCommitKey message;
  message.group = key.group;
  message.topic = key.topic;
  message.partition = key.partition;
  return key_bytes(RecordType::OFFSET_COMMIT, message);
}

Bytes group_key(const std::string& group) {
  wire::GroupMetadataKey message;
  message.group = group;
  return key_bytes(RecordType::GROUP_METADATA, message);
}

}  // namespace

Record offset_commit_record(const OffsetKey& key, const OffsetAndMetadata& value) {
  wire::OffsetCommitValue message;
  message.offset = value.offset;
  message.leader_epoch = value.leader_epoch;
  message.metadata = value.metadata;
  message.commit_timestamp = value.commit_timestamp;
  message.expire_timestamp = value.expire_timestamp;
  message.topic_id = value.topic_id;
  const int16_t version = value.expire_timestamp >= 0 ? offset_commit_version_with_expiry : offset_commit_version;
  return {offset_key(key), with_number(version, message, version)};
}

Record offset_tombstone(const OffsetKey& key) { return {offset_key(key), std::nullopt}; }

Record group_metadata_record(const ClassicGroup& group, const std::map<std::string, Bytes>& assignments) {
  wire::GroupMetadataValue value;
  value.protocol_type = group.protocol_type().value_or("");
  value.generation = group.generation();
  value.protocol = group.protocol();
  value.leader = group.leader();
  value.current_state_timestamp = group.state_timestamp();
  for (const auto& [id, member] : group.members()) {
    CHECK(group.protocol().has_value(), "group {} has members and no protocol", group.id());
    const Bytes* subscription = member.metadata(*group.protocol());
    CHECK(subscription != nullptr, "member {} of group {} does not support {}", id, group.id(), *group.protocol());
    auto& entry = value.members.emplace_back();
    entry.member_id = id;
    entry.group_instance_id = member.instance_id;
    entry.client_id = member.client_id;
    entry.client_host = member.client_host;
    entry.rebalance_timeout = member.rebalance_timeout_ms;
    entry.session_timeout = member.session_timeout_ms;
    entry.subscription = *subscription;
    if (const auto assignment = assignments.find(id); assignment != assignments.end()) entry.assignment = assignment->second;
  }
  return {group_key(group.id()), with_number(group_metadata_version, value, group_metadata_version)};
}

Record empty_group_metadata_record(const ClassicGroup& group) {
  wire::GroupMetadataValue value;
  value.protocol.reset();
  value.leader.reset();
  value.current_state_timestamp = group.state_timestamp();
  return {group_key(group.id()), with_number(group_metadata_version, value, group_metadata_version)};
}

Record group_metadata_tombstone(const std::string& group) { return {group_key(group), std::nullopt}; }

}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Loading: the records of the partition, in log order, become the state. Whatever Apache Kafka writes there is understood
// or, where only its presence matters, remembered by its key.
#include "group/shard.h"
#include "wire/codec.h"
#include "wire/messages/group_metadata_value.h"
#include "wire/messages/legacy_offset_commit_value.h"
#include "wire/messages/offset_commit_value.h"

namespace castellan::group {

namespace {

struct ParsedKey {
  RecordType type{};
  std::string group;
  std::string member;  // or the topic, or the regular expression
  int32_t partition = 0;
};

bool take_text(BytesView& bytes, std::string& text) {
  if (bytes.size() < 2) return false;
  const auto length = load_big_endian<int16_t>(bytes.data());
  if (length < 0 || bytes.size() - 2 < static_cast<size_t>(length)) return false;
  text = as_text(bytes.subspan(2, static_cast<size_t>(length)));
  bytes = bytes.subspan(2 + static_cast<size_t>(length));
  return true;
}

bool is_known(int16_t type) { return type >= 0 && type <= 23 && type != 9 && type != 18; }

// Keys all have the old, non-flexible form: the group, and for some types one more string, for offsets a partition.
Result<ParsedKey> parse_key(RecordType type, BytesView bytes) {
  ParsedKey key;
  key.type = type;
  const size_t size = bytes.size();
  bool good = take_text(bytes, key.group);
  switch (type) {
    case RecordType::LEGACY_OFFSET_COMMIT:
    case RecordType::OFFSET_COMMIT:
      good = good && take_text(bytes, key.member) && bytes.size() == 4;
      if (good) key.partition = load_big_endian<int32_t>(bytes.data());
      return good ? Result<ParsedKey>(key) : fail(ErrorCode::CORRUPT_MESSAGE, "the key of an offset commit cannot be read ({} bytes)", size);
    case RecordType::CONSUMER_GROUP_MEMBER_METADATA:
    case RecordType::CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
    case RecordType::CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
    case RecordType::SHARE_GROUP_MEMBER_METADATA:
    case RecordType::SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER:
    case RecordType::SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT:
    case RecordType::CONSUMER_GROUP_REGULAR_EXPRESSION:
    case RecordType::STREAMS_GROUP_MEMBER_METADATA:
    case RecordType::STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER:
    case RecordType::STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: good = good && take_text(bytes, key.member); break;
    default: break;
  }
  if (!good || !bytes.empty())
    return fail(ErrorCode::CORRUPT_MESSAGE, "the key of a group record of type {} cannot be read ({} bytes)", static_cast<int16_t>(type), size);
  return key;
}

Result<int16_t> version_of(BytesView value) {
  if (value.size() < 2) return fail(ErrorCode::CORRUPT_MESSAGE, "a record's value of {} bytes has no version", value.size());
  return load_big_endian<int16_t>(value.data());
}

template <class M>
Result<OffsetAndMetadata> offset_of(BytesView value, int64_t record_offset) {
  TRY(const int16_t version, version_of(value));
  TRY(auto message, wire::decode_exactly<M>(version, value.subspan(2)));
  OffsetAndMetadata result;
  result.offset = message.offset;
  result.metadata = std::move(message.metadata);
  result.commit_timestamp = message.commit_timestamp;
  if constexpr (requires { message.leader_epoch; }) {
    result.leader_epoch = message.leader_epoch;
    result.expire_timestamp = message.expire_timestamp;
    result.topic_id = message.topic_id;
  }
  result.record_offset = record_offset;
  return result;
}

Result<ClassicGroup> classic_group_of(const std::string& id, BytesView bytes) {
  TRY(const int16_t version, version_of(bytes));
  TRY(auto value, wire::decode_exactly<wire::GroupMetadataValue>(version, bytes.subspan(2)));
  std::vector<ClassicMember> members;
  for (auto& entry : value.members) {
    ClassicMember& member = members.emplace_back();
    member.id = entry.member_id;
    member.instance_id = entry.group_instance_id;
    member.client_id = entry.client_id;
    member.client_host = entry.client_host;
    member.session_timeout_ms = entry.session_timeout;
    member.rebalance_timeout_ms = entry.rebalance_timeout == -1 ? entry.session_timeout : entry.rebalance_timeout;
    // Only the protocol that was chosen is on disk; the others come back when the member joins again.
    auto& protocol = member.protocols.emplace_back();
    protocol.name = value.protocol.value_or("");
    protocol.metadata = std::move(entry.subscription);
    member.assignment = std::move(entry.assignment);
  }
  std::optional<std::string> protocol_type;
  if (!value.protocol_type.empty()) protocol_type = value.protocol_type;
  return ClassicGroup(id, value.generation, std::move(protocol_type), value.protocol, value.leader, value.current_state_timestamp, std::move(members));
}

}  // namespace

Result<void> Shard::load(const LoadedRecord& record, WallTime now) {
  if (record.key.size() < 2) return fail(ErrorCode::CORRUPT_MESSAGE, "record {} of the group coordinator has no key", record.offset);
  const auto number = load_big_endian<int16_t>(record.key.data());
  if (!is_known(number)) return {};
  const auto type = static_cast<RecordType>(number);
  TRY(const ParsedKey key, parse_key(type, record.key.subspan(2)));
  auto& groups = state_.groups_for_loading();
  Offsets& offsets = state_.offsets_for_loading();

  switch (type) {
    case RecordType::LEGACY_OFFSET_COMMIT:
    case RecordType::OFFSET_COMMIT: {
      const OffsetKey offset_key{key.group, key.member, key.partition};
      if (!record.value) {
        offsets.remove(offset_key);
        offsets.remove_pending(offset_key);
        return {};
      }
      TRY(auto value, type == RecordType::OFFSET_COMMIT ? offset_of<wire::OffsetCommitValue>(*record.value, record.offset)
                                                        : offset_of<wire::LegacyOffsetCommitValue>(*record.value, record.offset));
      if (!groups.contains(key.group)) groups[key.group] = std::make_shared<Group>(ClassicGroup(key.group, now.milliseconds));
      if (record.producer_id < 0) offsets.put(offset_key, std::move(value));
      else offsets.put_pending(record.producer_id, offset_key, std::move(value));
      return {};
    }
    case RecordType::GROUP_METADATA: {
      if (!record.value) {
        groups.erase(key.group);
        return {};
      }
      TRY(auto group, classic_group_of(key.group, *record.value));
      groups[key.group] = std::make_shared<Group>(std::move(group));
      return {};
    }
    default: return load_other(type, key.group, key.member, record);
  }
}

Result<void> Shard::load_other(RecordType type, const std::string& id, const std::string& member, const LoadedRecord& record) {
  auto& groups = state_.groups_for_loading();
  const GroupType group_kind = group_type(type);
  GroupPointer group = state_.find(id);
  OtherGroup* other = as_other(group);
  if (!record.value && (!other || other->type() != group_kind)) return {};
  if (record.value && (!other || other->type() != group_kind)) {
    // A record with members or epochs says what the group is now, even where offsets or an older kind came first.
    group = std::make_shared<Group>(OtherGroup(id, group_kind));
    groups[id] = group;
    other = as_other(group);
  }
  Record copy{to_bytes(record.key), std::nullopt};
  if (record.value) copy.value = to_bytes(*record.value);
  TRY_VOID(other->apply(type, member, copy));
  const bool is_group_itself = type == RecordType::CONSUMER_GROUP_METADATA || type == RecordType::SHARE_GROUP_METADATA ||
                               type == RecordType::STREAMS_GROUP_METADATA;
  if (!record.value && is_group_itself) groups.erase(id);
  return {};
}

void Shard::load_marker(int64_t producer_id, bool commit) { state_.offsets_for_loading().end_transaction(producer_id, commit); }

void Shard::finish_loading(Now now) {
  now_ = now;
  std::vector<GroupPointer> too_large;
  for (const auto& [id, group] : state_.groups()) {
    ClassicGroup* classic = as_classic(group);
    if (!classic) {
      schedule_other_members(*as_other(group));
      continue;
    }
    for (const auto& [member_id, member] : classic->members()) schedule_heartbeat(*classic, member);
    if (classic->members().size() > static_cast<size_t>(configuration_.group_size_max)) too_large.push_back(group);
  }
  // Members of a group that has outgrown its limit may commit before somebody is turned away.
  for (const GroupPointer& group : too_large) prepare_rebalance(group);
  schedule(TimerKey::Kind::RETENTION, "", "", configuration_.retention_check_interval.count());
}

}  // namespace castellan::group

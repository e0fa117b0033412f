// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The records of __consumer_offsets that the coordinator writes, and the key of any (B327 to B337): an int16 type and the
// key's fields; the value is an int16 version and its fields, none for a tombstone.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "group/classic_group.h"
#include "group/offsets.h"

namespace castellan::group {

struct Record {
  Bytes key;
  std::optional<Bytes> value;

  size_t size() const { return key.size() + (value ? value->size() : 0) + 24; }  // about, with the record's own fields
  friend bool operator==(const Record&, const Record&) = default;
};

// The int16 a key begins with. Numbers on disk: never change one.
enum class RecordType : int16_t {
  LEGACY_OFFSET_COMMIT = 0,
  OFFSET_COMMIT = 1,
  GROUP_METADATA = 2,
  CONSUMER_GROUP_METADATA = 3,
  CONSUMER_GROUP_PARTITION_METADATA = 4,
  CONSUMER_GROUP_MEMBER_METADATA = 5,
  CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6,
  CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7,
  CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8,
  SHARE_GROUP_MEMBER_METADATA = 10,
  SHARE_GROUP_METADATA = 11,
  SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = 12,
  SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = 13,
  SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = 14,
  SHARE_GROUP_STATE_PARTITION_METADATA = 15,
  CONSUMER_GROUP_REGULAR_EXPRESSION = 16,
  STREAMS_GROUP_METADATA = 17,
  STREAMS_GROUP_MEMBER_METADATA = 19,
  STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = 20,
  STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = 21,
  STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = 22,
  STREAMS_GROUP_TOPOLOGY = 23,
};

Record offset_commit_record(const OffsetKey& key, const OffsetAndMetadata& value);
Record offset_tombstone(const OffsetKey& key);

// `assignments` by member id; a member without one gets empty bytes.
Record group_metadata_record(const ClassicGroup& group, const std::map<std::string, Bytes>& assignments);
// A group that exists but has not completed a rebalance.
Record empty_group_metadata_record(const ClassicGroup& group);
Record group_metadata_tombstone(const std::string& group);

}  // namespace castellan::group

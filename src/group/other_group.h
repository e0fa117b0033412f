// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A group of another protocol (consumer KIP-848, share KIP-932, streams KIP-1071), as its records in __consumer_offsets
// tell. Until those protocols are served here such a group is only known: listed, described as unknown by the classic
// API, protected from a classic join while it has members. Its records stay as they are, but for what goes by time as in
// Apache Kafka: members that do not heartbeat, offsets that are past their retention, and then the group.

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "group/record.h"

namespace castellan::group {

enum class GroupType { CLASSIC, CONSUMER, SHARE, STREAMS };
std::string_view type_name(GroupType type);
// The type of group a record belongs to; CLASSIC for offsets and classic groups.
GroupType group_type(RecordType type);

class OtherGroup {
 public:
  OtherGroup(std::string id, GroupType type) : id_(std::move(id)), type_(type) {}

  const std::string& id() const { return id_; }
  GroupType type() const { return type_; }
  // As ListGroups names it.
  std::string_view state() const;
  bool has_members() const { return !members_.empty(); }
  bool is_subscribed_to(const std::string& topic) const;
  // A share group whose partitions have state in __share_group_state.
  bool has_share_state() const { return has_share_state_; }

  // For offsets committed or fetched under a member's name: NONE, UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION.
  ErrorCode validate_member(const std::string& member, int32_t epoch) const;
  bool member_uses_classic_protocol(const std::string& member) const;

  // One record of this group; `member` is what the key says beside the group (a member id, a regular expression), or "".
  Result<void> apply(RecordType type, const std::string& member, const Record& record);
  // Removes all members: a tombstone for each record that is theirs.
  std::vector<Record> remove_members();
  // A tombstone for each record that is live, the group's own last.
  std::vector<Record> tombstones() const;

 private:
  struct Member {
    bool has_metadata = false;
    bool has_assignment = false;
    bool uses_classic_protocol = false;
    int32_t epoch = 0;
    int8_t state = 0;
    std::vector<std::string> topics;
  };

  Result<void> apply_value(RecordType type, const std::string& member, BytesView value);
  void apply_tombstone(RecordType type, const std::string& member);

  std::string id_;
  GroupType type_;
  int32_t epoch_ = 0;
  int32_t assignment_epoch_ = -1;
  int32_t topology_epoch_ = -1;
  int32_t validated_topology_epoch_ = -1;
  bool has_share_state_ = false;
  std::map<std::string, Member> members_;
  std::map<std::string, std::vector<std::string>> expressions_;
  std::set<std::string> topology_topics_;
  std::map<std::pair<RecordType, std::string>, Bytes> keys_;  // live records
};

}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A group of the classic protocol: who is in it and which phase of a rebalance it is in (KIP-62, KIP-345, KIP-394).
//
//   Empty --join--> PreparingRebalance --all rejoined--> CompletingRebalance --leader's sync stored--> Stable
//     ^                    |     ^                               |                                        |
//     +---nobody is left---+     +------- a member comes, goes, changes, or does not sync ----------------+
//   any --deleted--> Dead (the object is gone then)
//
// Values and rules only. Timers, answers and records are the shard's (group/shard.h), which names a waiting request by
// its token here. What survives a restart is the GroupMetadata record alone: a group with members comes back Stable.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "group/messages.h"

namespace castellan::group {

using Protocol = wire::JoinGroupRequest::JoinGroupRequestProtocol;

struct Waiting {
  Token token = 0;
  int16_t version = 0;
};

struct ClassicMember {
  std::string id;
  std::optional<std::string> instance_id;  // a static member (KIP-345)
  std::string client_id;
  std::string client_host;
  int32_t rebalance_timeout_ms = 0;
  int32_t session_timeout_ms = 0;
  std::vector<Protocol> protocols;  // in the member's order of preference
  Bytes assignment;
  std::optional<Waiting> join;  // its JoinGroup that waits for the phase to end
  std::optional<Waiting> sync;  // its SyncGroup that waits for the leader's
  bool is_new = false;          // has not completed a rebalance yet: only the join timeout keeps it

  bool is_static() const { return instance_id.has_value(); }
  // nullptr when the member does not support the protocol.
  const Bytes* metadata(std::string_view protocol) const;
  // A waiting request is as good as a heartbeat, but not that of a member that has never been in a generation.
  bool heartbeat_satisfied() const { return !is_new && (join || sync); }
};

enum class ClassicState { EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE };
std::string_view state_name(ClassicState state);

class ClassicGroup {
 public:
  ClassicGroup(std::string id, int64_t now_ms) : id_(std::move(id)), state_timestamp_(now_ms) {}
  // As loaded from a record: with members it is Stable.
  ClassicGroup(std::string id, int32_t generation, std::optional<std::string> protocol_type, std::optional<std::string> protocol,
               std::optional<std::string> leader, int64_t state_timestamp, std::vector<ClassicMember> members);

  const std::string& id() const { return id_; }
  ClassicState state() const { return state_; }
  ClassicState previous_state() const { return previous_state_; }
  bool is(ClassicState state) const { return state_ == state; }
  void transition_to(ClassicState state, int64_t now_ms);
  // Preparing may begin from every state but itself.
  bool can_rebalance() const { return state_ != ClassicState::PREPARING_REBALANCE; }

  int32_t generation() const { return generation_; }
  const std::optional<std::string>& protocol_type() const { return protocol_type_; }
  const std::optional<std::string>& protocol() const { return protocol_; }
  const std::optional<std::string>& leader() const { return leader_; }
  int64_t state_timestamp() const { return state_timestamp_; }  // wall ms; -1 unknown (an old record)
  bool is_leader(std::string_view member) const { return leader_ && *leader_ == member; }
  bool uses_consumer_protocol() const { return protocol_type_ && *protocol_type_ == "consumer"; }
  // Only offsets, no member ever: made by a commit of a consumer that assigns its partitions itself.
  bool is_simple() const { return !protocol_type_ && state_ == ClassicState::EMPTY && pending_.empty(); }

  const std::map<std::string, ClassicMember>& members() const { return members_; }
  ClassicMember* member(const std::string& id);
  bool has_member(const std::string& id) const { return members_.contains(id); }
  // The member that holds the instance id now; nullptr when none does.
  const std::string* static_member(const std::string& instance_id) const;
  size_t joining_count() const;  // members whose JoinGroup waits
  bool all_joined() const { return pending_.empty() && joining_count() == members_.size(); }
  int32_t rebalance_timeout_ms() const;  // the longest of the members

  // Dynamic members that were given an id and have not joined with it yet (KIP-394).
  const std::set<std::string>& pending() const { return pending_; }
  bool is_pending(const std::string& id) const { return pending_.contains(id); }
  void add_pending(const std::string& id) { pending_.insert(id); }

  const std::set<std::string>& pending_sync() const { return pending_sync_; }
  void remove_pending_sync(const std::string& id) { pending_sync_.erase(id); }
  void clear_pending_sync() { pending_sync_.clear(); }

  // While the first rebalance is delayed: somebody came since the delay was last set.
  bool new_member_added() const { return new_member_added_; }
  void set_new_member_added(bool value) { new_member_added_ = value; }

  // Adds a member; the first one sets the group's protocol type. The caller has checked that it fits.
  void add(ClassicMember member, const std::string& protocol_type);
  void remove(const std::string& id);
  void update(ClassicMember& member, std::vector<Protocol> protocols, int32_t rebalance_timeout_ms, int32_t session_timeout_ms,
              std::optional<Waiting> join);
  // Gives the instance a new member id; the waiting requests of the old one are taken out and must be answered by the caller.
  struct Fenced {
    std::optional<Waiting> join;
    std::optional<Waiting> sync;
  };
  Fenced replace_static_member(const std::string& instance_id, const std::string& old_id, const std::string& new_id);

  // NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
  ErrorCode validate_member(const std::string& id, const std::optional<std::string>& instance_id) const;
  bool supports(const std::string& protocol_type, const std::vector<Protocol>& protocols) const;
  // The protocol that all support and most prefer; ties go to the lesser name. There are members.
  std::string select_protocol() const;

  // True when the leader (or, if it has not rejoined, another member that has) can lead the next generation.
  bool elect_joined_leader();
  // Ends the prepare phase: the generation counts up, and the state is CompletingRebalance, or Empty without members.
  void next_generation(int64_t now_ms);

  // Set only when the protocol is "consumer" and each member's subscription could be read.
  const std::optional<std::set<std::string>>& subscribed_topics() const { return subscribed_topics_; }
  bool is_subscribed_to(const std::string& topic) const;

 private:
  std::optional<std::set<std::string>> compute_subscribed_topics() const;

  std::string id_;
  ClassicState state_ = ClassicState::EMPTY;
  ClassicState previous_state_ = ClassicState::EMPTY;
  int64_t state_timestamp_ = -1;
  int32_t generation_ = 0;
  std::optional<std::string> protocol_type_;
  std::optional<std::string> protocol_;
  std::optional<std::string> leader_;
  std::map<std::string, ClassicMember> members_;
  std::map<std::string, std::string> static_members_;  // instance id -> member id
  std::set<std::string> pending_;
  std::set<std::string> pending_sync_;
  std::optional<std::set<std::string>> subscribed_topics_;
  bool new_member_added_ = false;
};

}  // namespace castellan::group

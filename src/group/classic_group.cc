// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/classic_group.h"

#include <algorithm>

#include "base/check.h"
#include "group/subscription.h"

namespace castellan::group {

const Bytes* ClassicMember::metadata(std::string_view protocol) const {
  for (const auto& candidate : protocols)
    if (candidate.name == protocol) return &candidate.metadata;
  return nullptr;
}

std::string_view state_name(ClassicState state) {
  switch (state) {
    case ClassicState::EMPTY: return "Empty";
    case ClassicState::PREPARING_REBALANCE: return "PreparingRebalance";
    case ClassicState::COMPLETING_REBALANCE: return "CompletingRebalance";
    case ClassicState::STABLE: return "Stable";
  }
  return "Dead";
}

ClassicGroup::ClassicGroup(std::string id, int32_t generation, std::optional<std::string> protocol_type, std::optional<std::string> protocol,
                           std::optional<std::string> leader, int64_t state_timestamp, std::vector<ClassicMember> members)
    : id_(std::move(id)),
      state_(members.empty() ? ClassicState::EMPTY : ClassicState::STABLE),
      state_timestamp_(state_timestamp),
      generation_(generation),
      protocol_type_(std::move(protocol_type)),
      protocol_(std::move(protocol)),
      leader_(std::move(leader)) {
  for (auto& member : members) {
    if (member.instance_id) static_members_[*member.instance_id] = member.id;
    const std::string member_id = member.id;
    members_.insert_or_assign(member_id, std::move(member));
  }
  if (!leader_ && !members_.empty()) leader_ = members_.begin()->first;
  subscribed_topics_ = compute_subscribed_topics();
}

void ClassicGroup::transition_to(ClassicState state, int64_t now_ms) {
  const bool is_allowed = state == ClassicState::PREPARING_REBALANCE ? state_ != state
                          : state == ClassicState::STABLE            ? state_ == ClassicState::COMPLETING_REBALANCE
                                                                     : state_ == ClassicState::PREPARING_REBALANCE;
  CHECK(is_allowed, "group {} cannot go from {} to {}", id_, state_name(state_), state_name(state));
  previous_state_ = state_;
  state_ = state;
  state_timestamp_ = now_ms;
}

ClassicMember* ClassicGroup::member(const std::string& id) {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second;
}

const std::string* ClassicGroup::static_member(const std::string& instance_id) const {
  const auto found = static_members_.find(instance_id);
  return found == static_members_.end() ? nullptr : &found->second;
}

size_t ClassicGroup::joining_count() const {
  return static_cast<size_t>(std::ranges::count_if(members_, [](const auto& entry) { return entry.second.join.has_value(); }));
}

int32_t ClassicGroup::rebalance_timeout_ms() const {
  int32_t longest = 0;
  for (const auto& [id, member] : members_) longest = std::max(longest, member.rebalance_timeout_ms);
  return longest;
}

void ClassicGroup::add(ClassicMember member, const std::string& protocol_type) {
  CHECK(!members_.contains(member.id), "member {} is in group {} already", member.id, id_);
  if (member.instance_id) {
    CHECK(!static_members_.contains(*member.instance_id), "instance {} is in group {} already", *member.instance_id, id_);
    static_members_[*member.instance_id] = member.id;
  }
  if (members_.empty()) protocol_type_ = protocol_type;
  if (!leader_) leader_ = member.id;
  pending_.erase(member.id);
  const std::string member_id = member.id;
  members_.emplace(member_id, std::move(member));
}

void ClassicGroup::remove(const std::string& id) {
  if (const auto found = members_.find(id); found != members_.end()) {
    if (found->second.instance_id) static_members_.erase(*found->second.instance_id);
    members_.erase(found);
  }
  if (is_leader(id)) {
    if (members_.empty()) leader_.reset();
    else leader_ = members_.begin()->first;
  }
  pending_.erase(id);
  pending_sync_.erase(id);
}

void ClassicGroup::update(ClassicMember& member, std::vector<Protocol> protocols, int32_t rebalance_timeout_ms, int32_t session_timeout_ms,
                          std::optional<Waiting> join) {
  member.protocols = std::move(protocols);
  member.rebalance_timeout_ms = rebalance_timeout_ms;
  member.session_timeout_ms = session_timeout_ms;
  member.join = join;
}

ClassicGroup::Fenced ClassicGroup::replace_static_member(const std::string& instance_id, const std::string& old_id, const std::string& new_id) {
  auto node = members_.extract(old_id);
  CHECK(!node.empty(), "group {} has no member {} to replace", id_, old_id);
  ClassicMember& member = node.mapped();
  const Fenced fenced{std::exchange(member.join, std::nullopt), std::exchange(member.sync, std::nullopt)};
  member.id = new_id;
  member.is_new = false;
  node.key() = new_id;
  members_.insert(std::move(node));
  if (is_leader(old_id)) leader_ = new_id;
  static_members_[instance_id] = new_id;
  if (pending_sync_.erase(old_id)) pending_sync_.insert(new_id);
  return fenced;
}

ErrorCode ClassicGroup::validate_member(const std::string& id, const std::optional<std::string>& instance_id) const {
  if (instance_id) {
    const std::string* holder = static_member(*instance_id);
    if (!holder) return ErrorCode::UNKNOWN_MEMBER_ID;
    if (*holder != id) return ErrorCode::FENCED_INSTANCE_ID;
  }
  return has_member(id) ? ErrorCode::NONE : ErrorCode::UNKNOWN_MEMBER_ID;
}

bool ClassicGroup::supports(const std::string& protocol_type, const std::vector<Protocol>& protocols) const {
  if (state_ == ClassicState::EMPTY) return !protocol_type.empty() && !protocols.empty();
  if (protocol_type_ != protocol_type) return false;
  return std::ranges::any_of(protocols, [&](const Protocol& protocol) {
    return std::ranges::all_of(members_, [&](const auto& entry) { return entry.second.metadata(protocol.name) != nullptr; });
  });
}

std::string ClassicGroup::select_protocol() const {
  CHECK(!members_.empty(), "group {} has no member that could vote", id_);
  const auto all_support = [&](const std::string& name) {
    return std::ranges::all_of(members_, [&](const auto& entry) { return entry.second.metadata(name) != nullptr; });
  };
  std::map<std::string, int> votes;
  for (const auto& [id, member] : members_) {
    const auto choice = std::ranges::find_if(member.protocols, [&](const Protocol& protocol) { return all_support(protocol.name); });
    CHECK(choice != member.protocols.end(), "members of group {} have no protocol in common", id_);
    ++votes[choice->name];
  }
  return std::ranges::max_element(votes, {}, [](const auto& entry) { return entry.second; })->first;
}

bool ClassicGroup::elect_joined_leader() {
  if (!leader_) return false;
  if (const ClassicMember* current = member(*leader_); current && current->join) return true;
  const auto joined = std::ranges::find_if(members_, [](const auto& entry) { return entry.second.join.has_value(); });
  if (joined == members_.end()) return false;
  leader_ = joined->first;
  return true;
}

void ClassicGroup::next_generation(int64_t now_ms) {
  ++generation_;
  if (members_.empty()) protocol_.reset();
  else protocol_ = select_protocol();
  subscribed_topics_ = compute_subscribed_topics();
  transition_to(members_.empty() ? ClassicState::EMPTY : ClassicState::COMPLETING_REBALANCE, now_ms);
  pending_sync_.clear();
  if (!members_.empty())
    for (const auto& [id, member] : members_) pending_sync_.insert(id);
}

bool ClassicGroup::is_subscribed_to(const std::string& topic) const {
  // Unknown subscriptions count as subscribed: nothing is deleted under a consumer that could not be understood.
  return subscribed_topics_ ? subscribed_topics_->contains(topic) : uses_consumer_protocol();
}

std::optional<std::set<std::string>> ClassicGroup::compute_subscribed_topics() const {
  if (!uses_consumer_protocol()) return std::nullopt;
  std::set<std::string> topics;
  if (members_.empty()) return topics;
  if (!protocol_) return std::nullopt;
  for (const auto& [id, member] : members_) {
    const Bytes* metadata = member.metadata(*protocol_);
    if (!metadata || !read_subscription(*metadata, topics)) return std::nullopt;
  }
  return topics;
}

}  // namespace castellan::group

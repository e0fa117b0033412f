// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What one shard knows: its groups and their offsets, and a journal that can take back what is not committed yet.
//
// Records are applied the moment they are made (the next request must see them), while their append is still under way.
// So every change leaves an entry in the journal of its batch: committed, the journal is dropped; failed, it is played
// backward (B322). A read of committed state looks through the journals that are left, oldest first.

#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "group/classic_group.h"
#include "group/offsets.h"
#include "group/other_group.h"

namespace castellan::group {

// A group's object is replaced, never reused, when the group is deleted and made again.
using Group = std::variant<ClassicGroup, OtherGroup>;
using GroupPointer = std::shared_ptr<Group>;

inline ClassicGroup* as_classic(const GroupPointer& group) { return group ? std::get_if<ClassicGroup>(group.get()) : nullptr; }
inline OtherGroup* as_other(const GroupPointer& group) { return group ? std::get_if<OtherGroup>(group.get()) : nullptr; }
// No member, and none that is about to come: may be deleted, or turned into a group of another protocol.
bool is_empty(const Group& group);

struct OffsetChange {
  OffsetKey key;
  std::optional<OffsetAndMetadata> previous;
  std::vector<Offsets::Pending> removed_pending;
};

struct GroupChange {
  std::string id;
  GroupPointer previous;  // none: there was no such group
};

using Change = std::variant<OffsetChange, GroupChange>;
using Journal = std::vector<Change>;

class State {
 public:
  // The latest state, with what is not committed yet.
  GroupPointer find(const std::string& id) const;
  const std::map<std::string, GroupPointer>& groups() const { return groups_; }
  const Offsets& offsets() const { return offsets_; }

  void set_group(const std::string& id, GroupPointer group, Journal& journal);  // none: removes it
  void commit_offset(const OffsetKey& key, OffsetAndMetadata value, Journal& journal);
  void remove_offset(const OffsetKey& key, Journal& journal);

  // Plays the journal backward. `discarded` gets each group object that goes away by it.
  void roll_back(const Journal& journal, std::vector<GroupPointer>& discarded);

  // Loading needs no journal.
  Offsets& offsets_for_loading() { return offsets_; }
  std::map<std::string, GroupPointer>& groups_for_loading() { return groups_; }

 private:
  std::map<std::string, GroupPointer> groups_;
  Offsets offsets_;
};

// The state without the changes of these journals, oldest first; cheap when there are none. Views, valid until the next
// change.
class CommittedView {
 public:
  CommittedView(const State& state, const std::vector<const Journal*>& uncommitted);

  GroupPointer find(const std::string& id) const;
  std::map<std::string, GroupPointer> groups() const;
  std::optional<OffsetAndMetadata> offset(const OffsetKey& key) const;
  TopicOffsets offsets_of(const std::string& group) const;

 private:
  const State& state_;
  std::map<std::string, GroupPointer> groups_;
  std::map<OffsetKey, std::optional<OffsetAndMetadata>> offsets_;
};

}  // namespace castellan::group

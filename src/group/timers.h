// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The timers of one shard: a deadline for each (kind, group, member). Not a clock: the owner asks for what is due.

#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"

namespace castellan::group {

struct TimerKey {
  enum class Kind { HEARTBEAT, JOIN, SYNC, RETENTION, OTHER_MEMBERS };
  Kind kind;
  std::string group;
  std::string member;  // of HEARTBEAT only

  friend auto operator<=>(const TimerKey&, const TimerKey&) = default;
};

class Timers {
 public:
  // Sets or moves the timer.
  void schedule(const TimerKey& key, MonotonicTime deadline) {
    cancel(key);
    by_key_.emplace(key, deadline);
    by_deadline_.emplace(deadline, key);
  }

  void cancel(const TimerKey& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    by_deadline_.erase({found->second, key});
    by_key_.erase(found);
  }

  // Takes the earliest timer that is due; timers with one deadline come in the order of their keys.
  std::optional<TimerKey> take_due(MonotonicTime now) {
    if (by_deadline_.empty() || by_deadline_.begin()->first > now) return std::nullopt;
    TimerKey key = by_deadline_.begin()->second;
    cancel(key);
    return key;
  }

  MonotonicTime next_deadline() const { return by_deadline_.empty() ? MonotonicTime::never() : by_deadline_.begin()->first; }
  bool contains(const TimerKey& key) const { return by_key_.contains(key); }
  size_t size() const { return by_key_.size(); }

 private:
  std::map<TimerKey, MonotonicTime> by_key_;
  std::set<std::pair<MonotonicTime, TimerKey>> by_deadline_;
};

}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Everything in the broker that waits for a time: one ordered set of deadlines for all, so that a waiting request costs
// an entry, not a timer, and an idle broker has one alarm. Entries with one deadline run in the order they were added.
//
//   auto id = deadlines.add(now.monotonic + timeout, [this] { give_up(); });
//   deadlines.cancel(id);
//
// One thread: the broker's loop.

#pragma once

#include <functional>
#include <map>

#include "base/time.h"

namespace castellan::broker {

class Deadlines {
 public:
  using Id = std::pair<MonotonicTime, uint64_t>;

  Id add(MonotonicTime due, std::function<void()> action) {
    const Id id{due, ++last_};
    entries_.emplace(id, std::move(action));
    if (due < announced_ && on_earlier) {
      announced_ = due;
      on_earlier(due);
    }
    return id;
  }
  // Harmless when it has run already.
  void cancel(const Id& id) { entries_.erase(id); }

  void run_due(MonotonicTime now) {
    announced_ = MonotonicTime::never();
    while (!entries_.empty() && entries_.begin()->first.first <= now) {
      auto action = std::move(entries_.begin()->second);
      entries_.erase(entries_.begin());
      action();
    }
    if (!entries_.empty() && entries_.begin()->first.first < announced_ && on_earlier) {
      announced_ = entries_.begin()->first.first;
      on_earlier(announced_);
    }
  }
  MonotonicTime next() const { return entries_.empty() ? MonotonicTime::never() : entries_.begin()->first.first; }
  size_t size() const { return entries_.size(); }

  // Called when the loop must wake up earlier than it was told before.
  std::function<void(MonotonicTime)> on_earlier;

 private:
  std::map<Id, std::function<void()>> entries_;
  MonotonicTime announced_ = MonotonicTime::never();
  uint64_t last_ = 0;
};

}  // namespace castellan::broker

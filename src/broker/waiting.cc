// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/waiting.h"

#include <algorithm>

namespace castellan::broker {

WaitingList::~WaitingList() {
  for (const auto& entry : entries_) std::erase(entry->lists_, this);
}

void WaitingList::look() {
  if (entries_.empty()) return;
  const auto entries = entries_;  // a look may change the list
  for (const auto& entry : entries) entry->look();
}

void Waiting::watch(WaitingList& list) {
  list.entries_.push_back(shared_from_this());
  lists_.push_back(&list);
}

void Waiting::start(Deadlines& deadlines, MonotonicTime due) {
  deadlines_ = &deadlines;
  deadline_ = deadlines.add(due, [self = shared_from_this()] {
    if (self->done_) return;
    self->done_ = true;
    self->leave();
    self->expire();
  });
}

void Waiting::look() {
  if (done_ || looking_) return;
  looking_ = true;
  const auto self = shared_from_this();
  if (try_complete()) {
    done_ = true;
    if (deadlines_) deadlines_->cancel(deadline_);
    leave();
  }
  looking_ = false;
}

void Waiting::leave() {
  const auto self = shared_from_this();
  for (auto* list : lists_) {
    auto& entries = list->entries_;
    if (const auto found = std::find(entries.begin(), entries.end(), self); found != entries.end()) {
      *found = std::move(entries.back());
      entries.pop_back();
    }
  }
  lists_.clear();
}

}  // namespace castellan::broker

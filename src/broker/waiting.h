// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A request that waits for something to happen on partitions: a fetch for data, a produce for replication, a deletion of
// records for the followers. It is looked at again each time one of its partitions moved, and at its deadline.
//
//   struct WaitingFetch : Waiting { bool try_complete() override; void expire() override; };
//   wait(broker.deadlines(), due, std::make_shared<WaitingFetch>(...), partitions);
//
// Owner: the partitions that it watches and its deadline; gone when it has completed or expired.

#pragma once

#include <memory>
#include <vector>

#include "broker/deadlines.h"

namespace castellan::broker {

class Waiting;
using WaitingPtr = std::shared_ptr<Waiting>;

// The requests that watch one partition.
class WaitingList {
 public:
  WaitingList() = default;
  WaitingList(const WaitingList&) = delete;
  // Who waits elsewhere too goes on waiting there.
  ~WaitingList();
  bool empty() const { return entries_.empty(); }
  // Something moved: each gets a look, and those that are done leave.
  void look();

 private:
  friend class Waiting;
  std::vector<WaitingPtr> entries_;
};

class Waiting : public std::enable_shared_from_this<Waiting> {
 public:
  virtual ~Waiting() = default;
  // True when it has been answered.
  virtual bool try_complete() = 0;
  // The time is over: answer with what there is.
  virtual void expire() = 0;

  void watch(WaitingList& list);
  void start(Deadlines& deadlines, MonotonicTime due);
  // Tries; when that answered the request, it leaves all lists.
  void look();
  bool done() const { return done_; }

 private:
  friend class WaitingList;
  void leave();

  std::vector<WaitingList*> lists_;
  Deadlines* deadlines_ = nullptr;
  Deadlines::Id deadline_{};
  bool done_ = false;
  bool looking_ = false;
};

}  // namespace castellan::broker

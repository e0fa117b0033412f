// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Lets a loop of quorum/ run on a reactor's thread, beside the connections that feed it. A message that comes in, the step it
// makes and the message that goes out then need no change of thread; under load such changes cost a controller more than all it
// does between them (doc/decisions/0004-one-commit-at-a-time.md).
//
//   ReactorExecutor raft(reactor, clock);
//   raft.drive(&node->raft_loop());     // before the reactor runs
//   raft.post(...);                     // any thread
//
// The reactor's alarm is the loop's: nothing else may arm it. Owner: node/. Thread: post from any.

#pragma once

#include "io/clock.h"
#include "net/reactor.h"
#include "quorum/executor.h"

namespace castellan::node {

class ReactorExecutor final : public quorum::Executor {
 public:
  ReactorExecutor(net::Reactor& reactor, const io::Clock& clock) : reactor_(reactor), clock_(clock) {}

  void drive(quorum::Loop* loop);
  void post(std::function<void()> work) override;

 private:
  // Wakes the loop when its time has come, and sees to it that it will be woken.
  void settle();

  net::Reactor& reactor_;
  const io::Clock& clock_;
  quorum::Loop* loop_ = nullptr;
};

}  // namespace castellan::node

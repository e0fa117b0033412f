// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One event loop: the sockets of some connections, tasks that other threads hand in, and one alarm. node/ gives it a
// thread; everything that belongs to the loop (connections, the broker's partitions) is touched by that thread only.
// An idle loop sleeps in the kernel: nothing polls.
//
//   Reactor reactor;
//   reactor.on_alarm([&] { broker.tick(clock.now()); reactor.arm(broker.next_deadline()); });
//   std::thread thread([&] { reactor.run(); });
//   reactor.post([&] { ... });      // from any thread
//   reactor.stop();                 // from any thread; run() returns
//
// Threads: post, dispatch and stop from any; everything else on the loop's thread, or before run.

#pragma once

#include <functional>
#include <memory>

#include "base/time.h"

namespace castellan::net {

class Reactor {
 public:
  Reactor();
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  void run();
  void stop();
  void post(std::function<void()> task);
  // At once when called on the loop's thread, else like post.
  void dispatch(std::function<void()> task);
  bool in_loop() const;

  // The alarm rings once at the earliest of the deadlines given to arm since it last rang.
  void on_alarm(std::function<void()> alarm);
  void arm(MonotonicTime deadline);

  // For the files of net/ only.
  struct Core;
  Core& core() { return *core_; }

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace castellan::net

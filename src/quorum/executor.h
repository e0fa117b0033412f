// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// How the loops of this library run: work is posted to them, and they are woken when a time has come. Nothing here makes a
// thread. node/ gives each loop a thread that runs a Mailbox; the simulator has executors of its own, on one thread.

#pragma once

#include <functional>

#include "base/time.h"

namespace castellan::quorum {

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `work` later, in the order of the posts, never from inside post. Any thread.
  virtual void post(std::function<void()> work) = 0;
};

class Loop {
 public:
  virtual ~Loop() = default;
  // When `wake` is due if no work comes before; asked again after each piece of work.
  virtual MonotonicTime next_deadline() const = 0;
  virtual void wake() = 0;
};

}  // namespace castellan::quorum

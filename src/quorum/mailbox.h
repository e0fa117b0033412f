// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// An Executor for a thread that somebody else makes:
//
//   Mailbox mailbox;
//   std::thread thread([&] { mailbox.run(clock, &loop); });
//   mailbox.post(...);
//   mailbox.close();  thread.join();
//
// The queue has no bound of its own: what enters a node is bounded where it enters (design, "Threads"), and control messages
// between loops must never wait.

#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "io/clock.h"
#include "quorum/executor.h"

namespace castellan::quorum {

class Mailbox final : public Executor {
 public:
  void post(std::function<void()> work) override;
  // Runs what is posted, and wakes `loop` (when there is one) at its deadlines, until close(). What was posted before close() is
  // still run; what comes later is dropped.
  void run(const io::Clock& clock, Loop* loop = nullptr);
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> work_;
  bool closed_ = false;
};

}  // namespace castellan::quorum

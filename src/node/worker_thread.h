// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A thread that runs what is posted to it, for loops and for what blocks. Joined when it is destroyed; what was posted
// before is still run.

#pragma once

#include <string>
#include <thread>

#include "broker/loop.h"
#include "quorum/mailbox.h"

namespace castellan::node {

class WorkerThread : public broker::Workers {
 public:
  explicit WorkerThread(std::string name) : name_(std::move(name)) {}
  ~WorkerThread() override { stop(); }

  quorum::Mailbox& mailbox() { return mailbox_; }
  void start(const io::Clock& clock, quorum::Loop* loop = nullptr);
  void stop();

  // broker::Workers
  void run(std::function<void()> task) override { mailbox_.post(std::move(task)); }

 private:
  std::string name_;
  quorum::Mailbox mailbox_;
  std::thread thread_;
};

}  // namespace castellan::node

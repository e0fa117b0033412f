// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/worker_thread.h"

#include <pthread.h>

namespace castellan::node {

void WorkerThread::start(const io::Clock& clock, quorum::Loop* loop) {
  thread_ = std::thread([this, &clock, loop] {
    pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
    mailbox_.run(clock, loop);
  });
}

void WorkerThread::stop() {
  mailbox_.close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace castellan::node

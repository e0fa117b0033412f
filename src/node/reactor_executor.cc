// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/reactor_executor.h"

namespace castellan::node {

void ReactorExecutor::drive(quorum::Loop* loop) {
  loop_ = loop;
  reactor_.on_alarm([this] { settle(); });
}

void ReactorExecutor::post(std::function<void()> work) {
  reactor_.post([this, work = std::move(work)] {
    work();
    settle();
  });
}

void ReactorExecutor::settle() {
  if (!loop_) return;
  MonotonicTime next = loop_->next_deadline();
  if (next <= clock_.monotonic()) {
    loop_->wake();
    next = loop_->next_deadline();
  }
  if (next != MonotonicTime::never()) reactor_.arm(next);
}

}  // namespace castellan::node

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/mailbox.h"

namespace castellan::quorum {

void Mailbox::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    work_.push_back(std::move(work));
    if (work_.size() > 1) return;  // the runner has been told
  }
  changed_.notify_one();
}

void Mailbox::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void Mailbox::run(const io::Clock& clock, Loop* loop) {
  std::vector<std::function<void()>> batch;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto something = [&] { return !work_.empty() || closed_; };
    if (!something()) {
      lock.unlock();
      const MonotonicTime next = loop ? loop->next_deadline() : MonotonicTime::never();
      const Duration wait = next == MonotonicTime::never() ? Duration::max() : next - clock.monotonic();
      lock.lock();
      if (next == MonotonicTime::never()) {
        changed_.wait(lock, something);
      } else if (!changed_.wait_for(lock, std::max(wait, Duration(0)), something)) {
        lock.unlock();
        loop->wake();
        lock.lock();
        continue;
      }
    }
    if (work_.empty()) return;  // closed
    batch.swap(work_);
    lock.unlock();
    for (auto& work : batch) {
      work();
      work = nullptr;  // what it held goes now, on this thread
    }
    batch.clear();
    // Deadlines do not starve behind a stream of work.
    if (loop && loop->next_deadline() <= clock.monotonic()) loop->wake();
    lock.lock();
  }
}

}  // namespace castellan::quorum

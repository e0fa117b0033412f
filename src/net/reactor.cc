// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/reactor.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "net/reactor_core.h"

namespace castellan::net {

namespace asio = boost::asio;

Reactor::Reactor() : core_(std::make_unique<Core>()) {}
Reactor::~Reactor() = default;

void Reactor::run() {
  core_->thread = std::this_thread::get_id();
  auto work = asio::make_work_guard(core_->io);
  core_->io.run();
}

void Reactor::stop() { core_->io.stop(); }

void Reactor::post(std::function<void()> task) { asio::post(core_->io, std::move(task)); }

void Reactor::dispatch(std::function<void()> task) {
  if (in_loop()) return task();
  post(std::move(task));
}

bool Reactor::in_loop() const { return core_->thread == std::this_thread::get_id(); }

void Reactor::on_alarm(std::function<void()> alarm) { core_->on_alarm = std::move(alarm); }

void Reactor::arm(MonotonicTime deadline) {
  if (deadline >= core_->armed) return;
  core_->armed = deadline;
  // MonotonicTime counts from the same start as steady_clock.
  core_->alarm.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline.nanoseconds)));
  core_->alarm.async_wait([core = core_.get()](const boost::system::error_code& error) {
    if (error) return;  // armed for an earlier time
    core->armed = MonotonicTime::never();
    if (core->on_alarm) core->on_alarm();
  });
}

}  // namespace castellan::net

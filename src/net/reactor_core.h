// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The Asio half of a Reactor. Only .cc files of net/ include this: Asio's headers are slow to compile.

#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>

#include "net/reactor.h"

namespace castellan::net {

struct Reactor::Core {
  boost::asio::io_context io{1};
  boost::asio::steady_timer alarm{io};
  MonotonicTime armed = MonotonicTime::never();
  std::function<void()> on_alarm;
  std::thread::id thread;
};

}  // namespace castellan::net

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The inside of a Listener: its socket, its connections in order of their last activity, its one idle timer.
// Internal to net/.

#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <map>

#include "base/complaints.h"
#include "net/listener.h"
#include "net/listener_metrics.h"

namespace castellan::net {

struct Listener::Core : std::enable_shared_from_this<Listener::Core> {
  Core(Reactor& reactor, ListenerOptions options, RequestSink& sink);

  void accept();
  void admit(boost::asio::ip::tcp::socket socket);
  // False when connections have come faster than they may: tries again when one more may come.
  bool rate_allows();
  // The connection was active: moves it to the end of the order.
  void touch(Connection& connection);
  void remove(Connection& connection);
  void arm_idle_timer();
  void close_idle();
  // Calls on_drained when the last connection has gone.
  void check_drained();
  void complain(const std::string& line);
  MonotonicTime now() const;

  Reactor& reactor;
  ListenerOptions options;
  RequestSink& sink;
  std::unique_ptr<ListenerMetrics> metrics;  // none: not counted
  boost::asio::ip::tcp::acceptor acceptor;
  boost::asio::steady_timer idle_timer;
  boost::asio::steady_timer retry_timer;
  std::list<std::shared_ptr<Connection>> connections;  // the longest silent first
  std::map<std::string, size_t> per_address;
  Complaints complaints;
  double connection_credit = 0;  // how many may come now
  MonotonicTime credit_filled;
  bool accepting = false;   // wanted
  bool accept_pending = false;
  bool idle_timer_armed = false;
  bool draining = false;
  std::function<void()> on_drained;
};

}  // namespace castellan::net

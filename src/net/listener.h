// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A listening socket and its connections, on one reactor.
//
//   auto listener = Listener::open(reactor, options, sink);   // the port is bound: a port in use is an error here
//   listener->start();                                        // connections are accepted from now on
//
// Bounds: a frame above max_request_bytes closes its connection; one request of a connection is in work at a time; a
// connection that has been silent for idle_limit is closed (one that waits for its answer is not silent); connections
// above the limits wait unaccepted (all) or are closed at once (per address).
//
// Threads: the reactor's thread, or any while the reactor does not run. close() before the reactor is destroyed.

#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/reactor.h"
#include "net/request.h"

namespace castellan::metrics {
class Registry;
}

namespace castellan::net {

// How many connections, and how fast they may come. All may change while the listener runs.
struct ConnectionLimits {
  size_t all = INT32_MAX;
  size_t of_one_address = INT32_MAX;
  std::map<std::string, int64_t> of_address;  // numeric addresses with a limit of their own
  int64_t per_second = INT32_MAX;             // those that come faster wait unaccepted
};

struct ListenerOptions {
  std::string name;
  std::string host;  // empty: all addresses
  uint16_t port = 0;  // 0: any free one
  uint32_t max_request_bytes = 104857600;
  Duration idle_limit = std::chrono::minutes(10);
  int backlog = 50;
  int send_buffer_bytes = 102400;     // -1: the system's
  int receive_buffer_bytes = 102400;  // -1: the system's
  ConnectionLimits limits;
  metrics::Registry* metrics = nullptr;  // where it counts; none: nowhere
};

class Listener {
 public:
  static Result<std::unique_ptr<Listener>> open(Reactor& reactor, ListenerOptions options, RequestSink& sink);
  ~Listener();

  void start();
  // No new connections; those that are there stay. The listener is at its end: a request that is dropped ends its connection gently.
  void stop_accepting();
  // From now on; connections that are there stay.
  void set_limits(ConnectionLimits limits);
  // Ends all connections too.
  void close();
  // The gentle way: what has been answered gets through, requests that are not answered are dropped, and the clients close; who has
  // not closed within `patience` is closed. Then `done`.
  void drain(Duration patience, std::function<void()> done);

  uint16_t port() const;
  size_t connections() const;

  struct Core;

 private:
  explicit Listener(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  std::shared_ptr<Core> core_;
};

}  // namespace castellan::net

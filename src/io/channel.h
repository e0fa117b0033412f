// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Requests to another node. net implements it over TCP, sim over its simulated network, node in process for a combined
// node's own controller.
//
// A Channel belongs to one loop (thread) and calls back on that loop, never from inside send.

#pragma once

#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace castellan::io {

struct Endpoint {
  std::string host;
  uint16_t port = 0;

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

class Channel {
 public:
  // The response without its length prefix and header, or an Error:
  //   NETWORK_EXCEPTION     no answer, and nothing is known about the node
  //   REQUEST_TIMED_OUT     no answer in time
  //   BROKER_NOT_AVAILABLE  the process is gone (design, "Crash failover"): the connection was refused, or one that was there has ended
  //                         and a new one was not answered within some 20 ms
  using Callback = std::function<void(Result<Bytes> body)>;

  virtual ~Channel() = default;

  // Sends an already encoded request body. `timeout` counts from now; when it passes, the connection is closed, since
  // its answers can no longer be told apart from late ones. Requests to one endpoint leave in order; the answer to one may
  // come before the answer to an earlier one, since a question never waits behind a fetch that waits for data.
  virtual void send(const Endpoint& to, int16_t api_key, int16_t api_version, Bytes body, Duration timeout, Callback done) = 0;

  // The same on a connection of its own, made now: what this finds out holds for the address and not for an old connection.
  virtual void probe(const Endpoint& to, int16_t api_key, int16_t api_version, Bytes body, Duration timeout, Callback done) {
    send(to, api_key, api_version, std::move(body), timeout, std::move(done));
  }
};

}  // namespace castellan::io

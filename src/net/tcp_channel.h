// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Requests to other nodes over TCP, on a reactor.
//
//   TcpChannel channel(reactor, {.client_id = "raft-client-1", .post = [&](auto work) { raft.post(std::move(work)); }});
//   channel.send(leader, key, version, body, timeout, [](Result<Bytes> answer) { ... });
//   reactor.post([&] { channel.close(); });
//
// One request of a connection is in flight at a time; when all connections to an endpoint are busy another one is opened, up to
// a bound, so a vote does not wait behind a fetch that waits for data. Connections are kept, and made anew when they have ended.
// The answer BROKER_NOT_AVAILABLE (io/channel.h) is what tells a crash from a slow node: after the end of a connection an attempt
// to connect is made at once.
//
//   connecting --connected--> idle --request--> busy --answer--> idle
//       any of them --error, time is over--> closed
//
// Threads: send from any; answers by `post`; close on the reactor's thread, or when it does not run. Owner: node/.

#pragma once

#include <memory>

#include "io/channel.h"
#include "net/reactor.h"

namespace castellan::net {

struct TcpChannelOptions {
  std::string client_id;
  // Runs the callbacks where the channel's user wants them.
  std::function<void(std::function<void()>)> post;
  size_t connections_max = 8;  // to one endpoint
  Duration lost_after = std::chrono::milliseconds(20);
};

class TcpChannel : public io::Channel {
 public:
  TcpChannel(Reactor& reactor, TcpChannelOptions options);
  ~TcpChannel() override;

  void send(const io::Endpoint& to, int16_t api_key, int16_t api_version, Bytes body, Duration timeout, Callback done) override;
  void probe(const io::Endpoint& to, int16_t api_key, int16_t api_version, Bytes body, Duration timeout, Callback done) override;

  // Ends the connections to all endpoints but this one; what is in flight there gets NETWORK_EXCEPTION. Any thread.
  void keep_only(const io::Endpoint& to);
  // Ends everything; later requests get NETWORK_EXCEPTION.
  void close();

  struct Core;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace castellan::net

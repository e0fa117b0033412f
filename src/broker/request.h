// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One request on its way through the broker, and the ways to answer it. node/ makes one of each request that net/ hands
// over; the simulator and tests make their own.
//
//   void handle_heartbeat(Broker& broker, RequestPtr request, wire::HeartbeatRequest& body) {
//     wire::HeartbeatResponse response;
//     ...
//     reply(*request, response);
//   }
//
// A request is answered exactly once, at once or later, on the broker's loop. The decoded message may hold views into
// the frame: they are good as long as the request is held.

#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/time.h"
#include "wire/codec.h"
#include "wire/header.h"
#include "wire/output_chain.h"

namespace castellan::broker {

class Request {
 public:
  virtual ~Request() = default;

  virtual const wire::RequestStart& start() const = 0;
  virtual std::span<uint8_t> body() = 0;                  // the frame is ours: a produced batch is patched where it lies
  virtual const std::string& listener() const = 0;        // the name of the listener it came in on
  virtual const std::string& client_host() const = 0;     // numeric address
  virtual uint64_t connection() const = 0;                // a number that no other connection has

  virtual void send(wire::OutputChain frame) = 0;           // size, header and body
  virtual void send_nothing() = 0;
  virtual void close(const std::string& reason) = 0;

  int16_t version() const { return start().version; }
};

using RequestPtr = std::shared_ptr<Request>;

// Writes the response's header and body in the request's version and sends it. A response that cannot be written in that
// version is our mistake: the connection is closed with the reason in the log.
void reply_message(Request& request, const wire::MessageInfo& info, const void* response);

template <class Response>
void reply(Request& request, const Response& response) {
  reply_message(request, Response::info(), &response);
}

// The same with a body that is encoded already: another node's answer, or the controller's.
void reply_encoded(Request& request, BytesView body);

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One request as a listener hands it on, and the one answer to it.
//
//   struct Echo : RequestSink {
//     void on_request(Request request) override { request.respond(*wire::encode_response(request.start(), response)); }
//   };
//
// A Request owns its frame: body() and everything decoded from it as a view stay valid until the Request is destroyed,
// which may be long after on_request returned (a fetch that waits). The connection reads no further request before the
// answer is written, so requests of one connection are answered in order, and a client that does not read stops itself.
// A Request destroyed without an answer closes its connection.
//
// Threads: the reactor's thread only.

#pragma once

#include <memory>
#include <string>

#include "net/buffer.h"
#include "wire/header.h"
#include "wire/output_chain.h"

namespace castellan::net {

class Connection;

// Who is at the other end. Shared by all requests of a connection.
struct ConnectionInfo {
  uint64_t number = 0;         // unique in this process
  std::string listener;        // name of the listener it came in on
  std::string remote_host;     // numeric
  uint16_t remote_port = 0;
  std::string local_host;
  uint16_t local_port = 0;
  std::string text;            // "local:port-remote:port-number", for logs
};

class Request {
 public:
  Request(std::shared_ptr<Connection> connection, Buffer frame, wire::RequestStart start, size_t body_start);
  Request(Request&&) noexcept = default;
  Request& operator=(Request&&) = delete;
  ~Request();

  const wire::RequestStart& start() const { return start_; }
  std::span<uint8_t> body() { return frame_.span().subspan(body_start_); }
  const ConnectionInfo& info() const;
  // When the whole frame was there.
  MonotonicTime received() const { return received_; }

  // Exactly one of these, once. `response` is a whole frame, its size first (wire::encode_response).
  void respond(wire::OutputChain response);
  void respond_nothing();                    // Produce with acks=0
  void close(const std::string& reason);     // logged with the connection's ends, at a bounded rate

 private:
  std::shared_ptr<Connection> connection_;
  Buffer frame_;
  wire::RequestStart start_;
  size_t body_start_;
  MonotonicTime received_;
};

class RequestSink {
 public:
  virtual ~RequestSink() = default;
  virtual void on_request(Request request) = 0;
  // The connection has ended; nothing of it will come any more.
  virtual void on_closed(const ConnectionInfo&) {}
};

}  // namespace castellan::net

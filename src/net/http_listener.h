// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A small HTTP/1.1 server for what machines ask a node now and then: its metrics, whether it is ready. GET and HEAD only;
// keep-alive; requests with a body or a long head are refused. Not for clients' data.
//
//   TRY(auto http, HttpListener::open(reactor, {.host = "127.0.0.1", .port = 9990}, [](const std::string& path, HttpListener::Answer answer) {
//     answer({.status = 200, .body = "ok\n"});        // at once or later, on the reactor's thread
//   }));
//
// Bounds: so many connections at a time (more are closed at once); a connection that is silent, does not read, or waits for its
// answer for `patience` is closed. It costs nothing while nobody asks.
//
// Thread: the reactor's. close() before the reactor is destroyed.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "net/reactor.h"

namespace castellan::net {

struct HttpOptions {
  std::string host;  // empty: all addresses
  uint16_t port = 0;  // 0: any free one
  size_t max_connections = 64;
  Duration patience = std::chrono::seconds(10);
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpListener {
 public:
  using Answer = std::function<void(HttpAnswer)>;
  // `path` is without the query. Answer is called once; a request that is never answered is closed in time.
  using Handler = std::function<void(const std::string& path, Answer answer)>;

  static Result<std::unique_ptr<HttpListener>> open(Reactor& reactor, HttpOptions options, Handler handler);
  ~HttpListener();

  void start();
  void close();
  uint16_t port() const;

  struct Core;

 private:
  explicit HttpListener(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  std::shared_ptr<Core> core_;
};

}  // namespace castellan::net

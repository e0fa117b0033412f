// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One blocking connection to a node, for tools: plain sockets, a deadline for everything, one request at a time.
//
//   TRY(auto connection, Connection::open({"localhost", 9092}, "tool", Deadline::in(5s)));
//   TRY(auto answer, connection->ask<wire::DescribeClusterResponse>(request, 0, deadline));
//
// The first thing asked is ApiVersions: requests go in the newest version that both sides have.
// Errors: NETWORK_EXCEPTION, REQUEST_TIMED_OUT with the node's address; UNSUPPORTED_VERSION when the node does not have the API.
// Thread: any one.

#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "io/channel.h"
#include "wire/codec.h"

namespace castellan::client {

class Deadline {
 public:
  static Deadline in(Duration time) { return Deadline(std::chrono::steady_clock::now() + time); }
  // Not below zero.
  std::chrono::milliseconds left() const {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(at_ - std::chrono::steady_clock::now());
    return std::max(time, std::chrono::milliseconds(0));
  }
  bool over() const { return left().count() == 0; }

 private:
  explicit Deadline(std::chrono::steady_clock::time_point at) : at_(at) {}
  std::chrono::steady_clock::time_point at_;
};

class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const io::Endpoint& to, std::string client_id, Deadline deadline);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // `version_min`: the oldest version that can carry the request.
  template <class Response, class Request>
  Result<Response> ask(const Request& request, int16_t version_min, Deadline deadline) {
    Response response;
    TRY_VOID(ask_message(Request::info(), &request, Response::info(), &response, version_min, deadline));
    return response;
  }

 private:
  Connection(io::Endpoint to, std::string client_id) : to_(std::move(to)), client_id_(std::move(client_id)) {}
  Result<void> connect(Deadline deadline);
  Result<void> learn_versions(Deadline deadline);
  Result<void> ask_message(const wire::MessageInfo& request_info, const void* request, const wire::MessageInfo& response_info, void* response,
                           int16_t version_min, Deadline deadline);
  // A whole frame out, the body of its answer in.
  Result<Bytes> exchange(int16_t api_key, int16_t version, BytesView body, Deadline deadline);
  Result<void> wait_for(short events, Deadline deadline);
  Result<void> send_all(BytesView bytes, Deadline deadline);
  Result<Bytes> receive(size_t size, Deadline deadline);
  std::string name() const { return fmt::format("{}:{}", to_.host, to_.port); }

  io::Endpoint to_;
  std::string client_id_;
  int socket_ = -1;
  int32_t last_correlation_id_ = 0;
  std::map<int16_t, std::pair<int16_t, int16_t>> versions_;  // by API key: first and last
};

}  // namespace castellan::client

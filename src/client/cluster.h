// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A cluster as a tool sees it: some addresses to begin with, brokers (any may be asked, they pass on what is the controller's) or
// controllers (the active one is looked for).
//
//   Cluster cluster({.bootstrap = {{"localhost", 9093}}, .controllers = true});
//   TRY(auto response, cluster.ask<wire::DescribeQuorumResponse>(request, 0, [](const auto& response) { return error of response; }));
//
// A request is tried again, at another node where there is one, until it is answered or the time is over: after network errors, and
// when the answer says that the node does not lead (NOT_CONTROLLER, NOT_LEADER_OR_FOLLOWER and the like).
// Blocks. Thread: any one.

#pragma once

#include <functional>
#include <vector>

#include "client/connection.h"

namespace castellan::client {

struct ClusterOptions {
  std::vector<io::Endpoint> bootstrap;
  bool controllers = false;
  std::string client_id = "castellan";
  Duration timeout = std::chrono::seconds(60);
  Duration one_attempt = std::chrono::seconds(30);
};

class Cluster {
 public:
  explicit Cluster(ClusterOptions options) : options_(std::move(options)) {}

  // `error_of` finds the error code that counts in an answer.
  template <class Response, class Request>
  Result<Response> ask(const Request& request, int16_t version_min, const std::function<ErrorCode(const Response&)>& error_of) {
    Response response;
    const auto attempt = [&](Connection& connection, Deadline deadline) -> Result<ErrorCode> {
      TRY(response, connection.ask<Response>(request, version_min, deadline));
      return error_of(response);
    };
    TRY_VOID(try_until_answered(attempt));
    return response;
  }

 private:
  using Attempt = std::function<Result<ErrorCode>(Connection&, Deadline)>;
  Result<void> try_until_answered(const Attempt& attempt);
  Result<std::unique_ptr<Connection>> connect(Deadline deadline);

  ClusterOptions options_;
  size_t next_ = 0;  // of the bootstrap addresses
  std::unique_ptr<Connection> connection_;
};

}  // namespace castellan::client

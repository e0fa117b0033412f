// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "client/cluster.h"

#include <thread>

#include "wire/messages/describe_cluster_request.h"
#include "wire/messages/describe_cluster_response.h"

namespace castellan::client {

namespace {

constexpr std::chrono::milliseconds pause{50};

// An answer that says this is not the node to ask. (A timeout in an answer is the node's word, and final.)
bool is_elsewhere(ErrorCode code) {
  switch (code) {
    case ErrorCode::NOT_CONTROLLER:
    case ErrorCode::NOT_LEADER_OR_FOLLOWER:
    case ErrorCode::LEADER_NOT_AVAILABLE:
    case ErrorCode::FENCED_LEADER_EPOCH:
    case ErrorCode::BROKER_NOT_AVAILABLE:
      return true;
    default:
      return false;
  }
}

bool is_temporary(ErrorCode code) { return is_elsewhere(code) || code == ErrorCode::NETWORK_EXCEPTION || code == ErrorCode::REQUEST_TIMED_OUT; }

}  // namespace

Result<std::unique_ptr<Connection>> Cluster::connect(Deadline deadline) {
  const auto& address = options_.bootstrap[next_++ % options_.bootstrap.size()];
  TRY(auto connection, Connection::open(address, options_.client_id, deadline));
  if (!options_.controllers) return connection;
  wire::DescribeClusterRequest request;
  request.endpoint_type = 2;
  auto cluster = connection->ask<wire::DescribeClusterResponse>(request, 1, deadline);
  if (!cluster) return unexpected(cluster.error());
  // A controller of a metadata.version without registrations cannot say who leads; it may be the leader itself.
  if (cluster->error_code == static_cast<int16_t>(ErrorCode::UNSUPPORTED_VERSION)) return connection;
  if (const auto error = static_cast<ErrorCode>(cluster->error_code); error != ErrorCode::NONE) {
    return fail(error, "{}:{}: {}", address.host, address.port, cluster->error_message.value_or(std::string(error_name(error))));
  }
  for (const auto& node : cluster->brokers) {
    if (node.broker_id != cluster->controller_id) continue;
    if (node.host == address.host && node.port == address.port) return connection;
    return Connection::open({node.host, static_cast<uint16_t>(node.port)}, options_.client_id, deadline);
  }
  if (cluster->controller_id >= 0) return connection;  // a leader that has not registered yet
  return fail(ErrorCode::LEADER_NOT_AVAILABLE, "the quorum has no leader that {}:{} knows of", address.host, address.port);
}

Result<void> Cluster::try_until_answered(const Attempt& attempt) {
  const auto deadline = Deadline::in(options_.timeout);
  for (;;) {
    const auto this_time = Deadline::in(std::min<Duration>(options_.one_attempt, deadline.left()));
    Error error;
    if (!connection_) {
      auto connected = connect(this_time);
      if (connected) connection_ = std::move(*connected);
      else error = connected.error();
    }
    if (connection_) {
      const auto answer = attempt(*connection_, this_time);
      if (answer && !is_elsewhere(*answer)) return {};
      error = answer ? Error{*answer, std::string(error_name(*answer))} : answer.error();
      connection_.reset();
    }
    if (!is_temporary(error.code)) return unexpected(error);
    if (deadline.left() <= pause) return fail(ErrorCode::REQUEST_TIMED_OUT, "timed out; the last attempt: {}", error.message);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace castellan::client

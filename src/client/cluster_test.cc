// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "client/cluster.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "wire/header.h"
#include "wire/messages/api_versions_response.h"
#include "wire/messages/describe_cluster_request.h"
#include "wire/messages/describe_cluster_response.h"
#include "wire/messages/unregister_controller_request.h"
#include "wire/messages/unregister_controller_response.h"

namespace castellan::client {
namespace {

using namespace std::chrono_literals;

// A node that answers ApiVersions, says which controller leads, and lets a test decide what else it says.
class FakeNode {
 public:
  FakeNode() {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    endpoint = {"127.0.0.1", ntohs(address.sin_port)};
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeNode() {
    ::shutdown(listener_, SHUT_RDWR);
    ::close(listener_);
    thread_.join();
  }

  io::Endpoint endpoint;
  std::atomic<int32_t> leader = 1;
  std::atomic<uint16_t> leader_port = 0;
  std::atomic<int16_t> error = 0;        // of UnregisterController
  std::atomic<int> asked = 0;
  std::atomic<bool> knows_the_api = true;
  std::atomic<bool> hangs_up = false;

 private:
  void serve() {
    for (int client; (client = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(client)) {
      while (answer(client)) {
      }
    }
  }
  static bool read(int client, Bytes& bytes) {
    size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t got = ::recv(client, bytes.data() + have, bytes.size() - have, 0);
      if (got <= 0) return false;
      have += static_cast<size_t>(got);
    }
    return true;
  }
  bool answer(int client) {
    Bytes length(4);
    if (!read(client, length)) return false;
    Bytes frame(load_big_endian<uint32_t>(length.data()));
    if (!read(client, frame)) return false;
    wire::Reader reader(frame);
    const auto start = wire::read_request_header(reader);
    if (!start) return false;
    Result<wire::OutputChain> out = fail(ErrorCode::INVALID_REQUEST, "");
    if (start->api->key == wire::ApiKey::API_VERSIONS) {
      wire::ApiVersionsResponse response;
      response.api_keys.push_back({.api_key = wire::DescribeClusterRequest::info().key, .min_version = 0, .max_version = 2});
      if (knows_the_api) response.api_keys.push_back({.api_key = wire::UnregisterControllerRequest::info().key, .min_version = 0, .max_version = 0});
      out = wire::encode_response(*start, response);
    } else if (start->api->key == wire::ApiKey::DESCRIBE_CLUSTER) {
      wire::DescribeClusterResponse response;
      response.endpoint_type = 2;
      response.controller_id = leader;
      auto& node = response.brokers.emplace_back();
      node.broker_id = 1;
      node.host = "127.0.0.1";
      node.port = leader_port;
      out = wire::encode_response(*start, response);
    } else {
      ++asked;
      if (hangs_up.exchange(false)) return false;
      wire::UnregisterControllerResponse response;
      response.error_code = error.exchange(0);
      out = wire::encode_response(*start, response);
    }
    EXPECT_TRUE(out);
    const Bytes bytes = out->to_bytes();
    return ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  int listener_ = -1;
  std::thread thread_;
};

Result<int16_t> ask(Cluster& cluster) {
  wire::UnregisterControllerRequest request;
  TRY(const auto response, cluster.ask<wire::UnregisterControllerResponse>(
                               request, 0, [](const wire::UnregisterControllerResponse& answer) { return static_cast<ErrorCode>(answer.error_code); }));
  return response.error_code;
}

TEST(Cluster, the_active_controller_is_found_from_any_other) {
  FakeNode other, leader;
  other.leader_port = leader.leader_port = leader.endpoint.port;
  Cluster cluster({.bootstrap = {other.endpoint}, .controllers = true, .timeout = 10s});
  EXPECT_EQ(*ask(cluster), 0);
  EXPECT_EQ(leader.asked, 1);
  EXPECT_EQ(other.asked, 0);
}

TEST(Cluster, an_answer_from_a_node_that_does_not_lead_and_a_lost_connection_are_tried_again) {
  FakeNode node;
  node.error = static_cast<int16_t>(ErrorCode::NOT_CONTROLLER);
  Cluster cluster({.bootstrap = {node.endpoint}, .timeout = 10s});
  EXPECT_EQ(*ask(cluster), 0);
  EXPECT_EQ(node.asked, 2);
  node.hangs_up = true;
  EXPECT_EQ(*ask(cluster), 0);
  EXPECT_EQ(node.asked, 4);
}

TEST(Cluster, an_error_that_means_something_is_the_answer) {
  FakeNode node;
  node.error = static_cast<int16_t>(ErrorCode::REQUEST_TIMED_OUT);
  Cluster cluster({.bootstrap = {node.endpoint}, .timeout = 10s});
  EXPECT_EQ(*ask(cluster), static_cast<int16_t>(ErrorCode::REQUEST_TIMED_OUT));
}

TEST(Cluster, an_api_that_a_node_does_not_have_is_unsupported) {
  FakeNode node;
  node.knows_the_api = false;
  Cluster cluster({.bootstrap = {node.endpoint}, .timeout = 10s});
  EXPECT_EQ(ask(cluster).error().code, ErrorCode::UNSUPPORTED_VERSION);
}

TEST(Cluster, without_a_leader_the_time_runs_out_with_the_reason) {
  FakeNode node;
  node.leader = -1;
  Cluster cluster({.bootstrap = {node.endpoint}, .controllers = true, .timeout = 200ms});
  const auto answer = ask(cluster);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::REQUEST_TIMED_OUT);
  EXPECT_NE(answer.error().message.find("no leader"), std::string::npos) << answer.error().message;
}

TEST(Cluster, an_address_where_nobody_listens_is_named) {
  io::Endpoint gone;
  {
    FakeNode node;
    gone = node.endpoint;
  }
  Cluster cluster({.bootstrap = {gone}, .timeout = 200ms});
  EXPECT_NE(ask(cluster).error().message.find(std::to_string(gone.port)), std::string::npos);
}

}  // namespace
}  // namespace castellan::client

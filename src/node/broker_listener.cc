// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/broker_listener.h"

namespace castellan::node {

namespace {

class NetRequest : public broker::Request {
 public:
  explicit NetRequest(net::Request request) : request_(std::move(request)) {}

  const wire::RequestStart& start() const override { return request_.start(); }
  std::span<uint8_t> body() override { return request_.body(); }
  const std::string& listener() const override { return request_.info().listener; }
  const std::string& client_host() const override { return request_.info().remote_host; }
  uint64_t connection() const override { return request_.info().number; }
  void send(wire::OutputChain frame) override { request_.respond(std::move(frame)); }
  void send_nothing() override { request_.respond_nothing(); }
  void close(const std::string& reason) override { request_.close(reason); }

 private:
  net::Request request_;
};

}  // namespace

void BrokerListener::on_request(net::Request request) { broker_.handle(std::make_shared<NetRequest>(std::move(request))); }

}  // namespace castellan::node

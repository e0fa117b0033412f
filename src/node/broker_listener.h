// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Hands the requests of the broker's listeners to the broker.

#pragma once

#include "broker/broker.h"
#include "net/request.h"

namespace castellan::node {

class BrokerListener : public net::RequestSink {
 public:
  explicit BrokerListener(broker::Broker& broker) : broker_(broker) {}
  void on_request(net::Request request) override;

 private:
  broker::Broker& broker_;
};

}  // namespace castellan::node

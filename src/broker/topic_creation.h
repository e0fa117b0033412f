// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Topics that come into being because somebody asked for them (B134, B141, B326). The request for one name is under way
// once, whoever else asks.
//
// Owner: Broker. One loop.

#pragma once

#include <set>
#include <string>

#include "base/error_code.h"

namespace castellan::broker {

class Broker;

class TopicCreation {
 public:
  explicit TopicCreation(Broker& broker) : broker_(broker) {}

  // Asks the controller for the topic unless that is under way. Answers what to tell the client meanwhile.
  ErrorCode create_on_demand(const std::string& name);

 private:
  Broker& broker_;
  std::set<std::string> under_way_;
};

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Producer ids that this broker may hand out: blocks of 1000 from the controller, the next one asked for before the
// current one is used up (KIP-730). Who comes while there is none waits.
//
// Owner: Broker. One loop.

#pragma once

#include <deque>
#include <functional>

#include "base/bytes.h"
#include "base/result.h"

namespace castellan::broker {

class Broker;

class ProducerIds {
 public:
  using Callback = std::function<void(Result<int64_t> producer_id)>;

  explicit ProducerIds(Broker& broker) : broker_(broker) {}

  // Calls back at once when there is an id.
  void next(Callback done);

 private:
  struct Block {
    int64_t next = 0;
    int64_t end = 0;
  };
  void ask();
  void on_answer(Result<Bytes> answer);
  void serve();

  Broker& broker_;
  Block current_;
  Block following_;
  bool asking_ = false;
  std::deque<Callback> waiting_;
};

}  // namespace castellan::broker

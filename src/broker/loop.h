// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the broker needs of whoever drives it: node/ with real threads, the simulator with none.

#pragma once

#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace castellan::broker {

// The broker's own loop: everything in broker/ runs on it.
class Loop {
 public:
  virtual ~Loop() = default;
  // Runs `task` on the loop, soon, in the order of the posts. Any thread.
  virtual void post(std::function<void()> task) = 0;
  // Broker::tick must be called at `due`, or earlier. The loop's thread.
  virtual void wake_at(MonotonicTime due) = 0;
};

// Threads for what blocks: syncs, compaction, reading cold logs. A task touches only what it was given and posts its
// result back to the loop.
class Workers {
 public:
  virtual ~Workers() = default;
  virtual void run(std::function<void()> task) = 0;
};

// A request to the active controller: this node's own one in process, or another's over the network.
struct ControllerRequest {
  int16_t api_key = 0;
  int16_t api_version = 0;
  Bytes body;
  // On whose behalf; empty for the broker itself.
  std::string principal;
  std::string client_host;
  std::string client_id;
};

class ControllerChannel {
 public:
  using Callback = std::function<void(Result<Bytes> response_body)>;
  virtual ~ControllerChannel() = default;
  // Answers on the broker's loop, never from inside call. NOT_CONTROLLER, NETWORK_EXCEPTION or REQUEST_TIMED_OUT when
  // there is no answer. What the answer acknowledges has reached the broker's image before.
  virtual void call(ControllerRequest request, Callback done) = 0;
};

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The broker's place in the cluster: registers, heartbeats, asks to be unfenced when its logs are open, and to be let go
// when it stops (B434 to B438, B452; KIP-631).
//
//   registering --accepted--> catching up --image has us, logs are open--> unfencing --unfenced--> running
//   running --leave--> leaving --the controller has moved our leaders--> left
//
// A controller that does not know our epoch (any more) sends us back to registering.
//
// Owner: Broker. One loop.

#pragma once

#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "broker/deadlines.h"

namespace castellan::broker {

class Broker;

class Lifecycle {
 public:
  explicit Lifecycle(Broker& broker) : broker_(broker) {}

  // `ready` is called once, when the broker is unfenced; `failed` when it could not register in time.
  void start(std::function<void()> ready, std::function<void(std::string)> failed);
  // A newer image is applied: its logs are open.
  void on_image();
  // Something that the controller should hear of at once: a directory went offline.
  void hurry();
  // Calls back once, when the controller has let go or `patience` has passed.
  void leave(std::function<void()> done, Duration patience);

  int64_t broker_epoch() const { return epoch_; }
  bool running() const { return state_ == State::running; }
  // Kafka's number of this state, for metrics.
  int kafka_state() const;
  // Empty when running; else what is missing, in words.
  std::string not_ready_because() const;

 private:
  enum class State { idle, registering, catching_up, unfencing, running, leaving, left };

  void register_broker();
  void on_registered(Result<Bytes> answer);
  void heartbeat();
  void on_heartbeat(int16_t version, Result<Bytes> answer);
  void again_in(Duration delay);
  void finish_leaving();

  Broker& broker_;
  State state_ = State::idle;
  int64_t epoch_ = -1;
  bool in_flight_ = false;
  bool was_ready_ = false;
  bool hurry_ = false;
  int attempts_ = 0;
  MonotonicTime register_by_;
  Deadlines::Id next_{};
  Deadlines::Id patience_{};
  std::string last_refusal_;
  std::function<void()> ready_;
  std::function<void(std::string)> failed_;
  std::function<void()> left_;
};

}  // namespace castellan::broker

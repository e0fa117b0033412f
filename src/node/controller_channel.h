// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The broker's way to the controller of its own process: no socket, the same handlers (design, "Threads"). An answer comes
// back on the broker's loop, after the image that has what it acknowledges.
//
// While no controller is active (a start, a change of leader) a client's request is tried again until its time is over; the
// broker's own requests come back at once, it tries again itself.

#pragma once

#include "broker/loop.h"
#include "io/clock.h"
#include "net/reactor.h"
#include "quorum/metadata_node.h"

namespace castellan::node {

class LocalController : public broker::ControllerChannel {
 public:
  LocalController(quorum::MetadataNode& node, net::Reactor& reactor, const io::Clock& clock, Duration patience)
      : node_(node), reactor_(reactor), clock_(clock), patience_(patience) {}

  void call(broker::ControllerRequest request, Callback done) override;
  // The retries that are due.
  void tick(MonotonicTime now);
  MonotonicTime next_deadline() const;

 private:
  struct Call {
    broker::ControllerRequest request;
    Callback done;
    MonotonicTime give_up;
  };
  void ask(std::shared_ptr<Call> call);

  quorum::MetadataNode& node_;
  net::Reactor& reactor_;
  const io::Clock& clock_;
  Duration patience_;
  std::vector<std::pair<MonotonicTime, std::shared_ptr<Call>>> again_;
};

}  // namespace castellan::node

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The broker's way to the active controller: this process's own without a socket, another node's over the network, a client's
// request in an Envelope (KIP-590). Answers come back on the broker's loop, after the image that has what they acknowledge: the
// local controller sees to that itself; after the answer of another one, the leader is asked how far the log is committed, and the
// answer waits until this broker has read that far.
//
// While no controller is active (a start, a change of leader) a client's request is tried again until its time is over, and at
// once when a leader is heard of; the broker's own requests come back, it tries again itself.
//
// Thread: the broker's reactor; on_view from any.

#pragma once

#include "broker/loop.h"
#include "io/clock.h"
#include "net/reactor.h"
#include "net/tcp_channel.h"
#include "quorum/metadata_node.h"

namespace castellan::node {

class ActiveController : public broker::ControllerChannel {
 public:
  struct Limits {
    Duration client_patience;   // how long a client's request is tried
    Duration own_timeout;       // for one attempt of the broker's own
  };
  ActiveController(quorum::MetadataNode& node, net::Reactor& reactor, net::TcpChannel& channel, const io::Clock& clock, Limits limits)
      : node_(node), reactor_(reactor), channel_(channel), clock_(clock), limits_(limits) {}

  void call(broker::ControllerRequest request, Callback done) override;

  // The quorum has another leader, or its leader is active now.
  void on_view(const quorum::QuorumView& view);
  // The broker has this much of the metadata.
  void on_image(Offset last);
  // What is due.
  void tick(MonotonicTime now);
  MonotonicTime next_deadline() const;

 private:
  struct Call {
    broker::ControllerRequest request;
    Callback done;
    MonotonicTime give_up;

    bool of_client() const { return !request.principal.empty(); }
  };
  using CallPtr = std::shared_ptr<Call>;
  struct Answered {
    CallPtr call;
    Bytes body;
    Offset needs;            // the image that has what the answer says
    MonotonicTime give_up;
  };

  void attempt(CallPtr call);
  void ask_local(CallPtr call);
  void ask_remote(CallPtr call, const io::Endpoint& leader);
  void on_answer(CallPtr call, Result<Bytes> body);
  void wait_for_image(CallPtr call, Bytes body, const io::Endpoint& leader);
  void attempt_all();

  quorum::MetadataNode& node_;
  net::Reactor& reactor_;
  net::TcpChannel& channel_;
  const io::Clock& clock_;
  Limits limits_;
  Offset image_last_{-1};
  std::vector<std::pair<MonotonicTime, CallPtr>> again_;
  std::vector<Answered> answered_;
};

}  // namespace castellan::node

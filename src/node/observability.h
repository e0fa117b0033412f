// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a node tells those who watch it over HTTP (castellan.http.address):
//
//   /metrics   everything that is counted, in Prometheus' text form (doc/metrics.md)
//   /ready     200 "ready", or 503 with a line for each thing that is missing
//   /live      200 while the process serves its network loop
//
// An answer asks the loops for what they alone know, one after the other, so nothing is kept up to date for nobody. A loop that
// hangs leaves /metrics and /ready without an answer: the connection ends in time.
//
// Threads: open and close on the main thread; requests on the quorum's reactor. Outlived by the node's loops.

#pragma once

#include <atomic>
#include <memory>

#include "config/server_config.h"
#include "io/clock.h"
#include "metrics/registry.h"
#include "net/http_listener.h"
#include "quorum/metadata_node.h"
#include "quorum/report.h"

namespace castellan::broker {
class Broker;
}

namespace castellan::node {

class Observability {
 public:
  struct Parts {
    config::ServerConfigPtr config;
    io::Clock& clock;
    net::Reactor& reactor;                   // where HTTP is served
    metrics::Registry& registry;
    quorum::MetadataNode* metadata = nullptr;
    broker::Broker* broker = nullptr;        // none on a controller
    net::Reactor* broker_reactor = nullptr;
  };

  // Takes the port when the address is configured. Nothing is served before start.
  static Result<std::unique_ptr<Observability>> open(config::ServerConfigPtr config, net::Reactor& reactor);

  // On the reactor's thread.
  void start(Parts parts);
  void close();
  // From any thread: not ready any more.
  void stopping() { stopping_ = true; }

  // Where it serves, for the log; empty when it is off.
  std::string address() const;

 private:
  void handle(const std::string& path, net::HttpListener::Answer answer);
  void answer_ready(net::HttpListener::Answer answer);
  void answer_metrics(net::HttpListener::Answer answer);
  // Runs `ask` on the broker's loop and then `done` here; at once when there is no broker.
  void with_broker(std::function<void(broker::Broker&)> ask, std::function<void()> done);
  void read_process(metrics::Readings& to) const;
  void read_metadata(metrics::Readings& to) const;
  void read_quorum(metrics::Readings& to) const;

  std::optional<Parts> parts_;
  std::unique_ptr<net::HttpListener> http_;
  std::string host_;
  MonotonicTime started_;
  WallTime started_wall_;
  std::optional<quorum::QuorumReport> report_;  // of the page in the making
  std::atomic<bool> stopping_{false};
};

}  // namespace castellan::node

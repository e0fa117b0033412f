// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Hands the requests of the controller's listeners to the metadata half of the node; those that brokers pass on in an Envelope are
// taken out of it. What any controller can say, ApiVersions and DescribeCluster, is answered here.
//
// Thread: the reactor's.

#pragma once

#include "net/reactor.h"
#include "net/request.h"
#include "quorum/metadata_node.h"

namespace castellan::node {

class ControllerListener : public net::RequestSink {
 public:
  ControllerListener(quorum::MetadataNode& node, net::Reactor& reactor, std::string cluster_id)
      : node_(node), reactor_(reactor), cluster_id_(std::move(cluster_id)) {}
  void on_request(net::Request request) override;

 private:
  void answer_api_versions(net::Request request);
  void answer_describe_cluster(net::Request request);
  void open_envelope(net::Request request);
  // Passes the call on; `done` is called on the reactor's thread. That this node is not the active controller is said as the API
  // says it.
  void ask(quorum::MetadataRequest call, std::function<void(Result<Bytes>)> done);

  quorum::MetadataNode& node_;
  net::Reactor& reactor_;
  std::string cluster_id_;
};

}  // namespace castellan::node

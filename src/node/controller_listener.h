// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Hands the requests of the controller's listeners to the metadata half of the node, and answers ApiVersions there.

#pragma once

#include "net/reactor.h"
#include "net/request.h"
#include "quorum/metadata_node.h"

namespace castellan::node {

class ControllerListener : public net::RequestSink {
 public:
  ControllerListener(quorum::MetadataNode& node, net::Reactor& reactor) : node_(node), reactor_(reactor) {}
  void on_request(net::Request request) override;

 private:
  void answer_api_versions(net::Request request);

  quorum::MetadataNode& node_;
  net::Reactor& reactor_;
};

}  // namespace castellan::node

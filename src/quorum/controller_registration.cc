// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The active controller registers itself (KIP-919), by the same request that other controllers send it.

#include "quorum/metadata_loop.h"
#include "wire/messages/controller_registration_request.h"

namespace castellan::quorum {

void MetadataLoop::register_controller() {
  const auto& image = tip().tip();
  if (!image.features.version_or_minimum().controller_registration_supported()) return;
  const auto* known = image.cluster.controllers.find(config_->node_id);
  if (known && known->incarnation_id.value == incarnation_) return;
  wire::ControllerRegistrationRequest request;
  request.controller_id = config_->node_id.value;
  request.incarnation_id = incarnation_;
  for (const std::string& name : config_->controller_listener_names) {
    const auto found = controller_listeners_.find(name);
    if (found == controller_listeners_.end()) continue;
    auto& listener = request.listeners.emplace_back();
    listener.name = name;
    listener.host = found->second.host;
    listener.port = found->second.port;
    const auto protocol = config_->protocol_of_listener.find(name);
    if (protocol != config_->protocol_of_listener.end()) listener.security_protocol = static_cast<int16_t>(protocol->second);
  }
  for (const auto& [name, range] : image::supported_features(false)) {
    auto& feature = request.features.emplace_back();
    feature.name = name;
    feature.min_supported_version = range.min;
    feature.max_supported_version = range.max;
  }
  auto work = std::make_shared<Work>();
  work->decoded = controller::Request::of(std::move(request), 0);
  work->request.api_key = static_cast<int16_t>(work->decoded.api);
  work->reply = [](const Result<Bytes>&) {};
  decide(std::move(work));
}

}  // namespace castellan::quorum

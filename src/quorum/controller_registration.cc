// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Controllers register in the metadata (KIP-919), so that an upgrade knows what all of them support. The active one handles its own
// request; a standby sends it to the leader, again after a while as long as the image does not have it.

#include "quorum/metadata_loop.h"
#include "wire/codec.h"
#include "wire/messages/controller_registration_request.h"
#include "wire/messages/controller_registration_response.h"

namespace castellan::quorum {
namespace {

constexpr int16_t registration_version = 0;
constexpr Duration retry_delay = std::chrono::seconds(1);

wire::ControllerRegistrationRequest registration(const config::ServerConfig& config, const raft::Endpoints& endpoints, const Uuid& incarnation) {
  wire::ControllerRegistrationRequest request;
  request.controller_id = config.node_id.value;
  request.incarnation_id = incarnation;
  for (const std::string& name : config.controller_listener_names) {
    const auto found = endpoints.find(name);
    if (found == endpoints.end()) continue;
    auto& listener = request.listeners.emplace_back();
    listener.name = name;
    listener.host = found->second.host;
    listener.port = found->second.port;
    const auto protocol = config.protocol_of_listener.find(name);
    if (protocol != config.protocol_of_listener.end()) listener.security_protocol = static_cast<int16_t>(protocol->second);
  }
  for (const auto& [name, range] : image::supported_features(false)) {
    auto& feature = request.features.emplace_back();
    feature.name = name;
    feature.min_supported_version = range.min;
    feature.max_supported_version = range.max;
  }
  return request;
}

bool is_registered(const image::Image& image, NodeId id, const Uuid& incarnation) {
  if (!image.features.version_or_minimum().controller_registration_supported()) return true;
  const auto* known = image.cluster.controllers.find(id);
  return known && known->incarnation_id.value == incarnation;
}

}  // namespace

void MetadataLoop::register_controller() {
  if (is_registered(tip().tip(), config_->node_id, incarnation_)) return;
  auto work = std::make_shared<Work>();
  work->decoded = controller::Request::of(registration(*config_, controller_listeners_, incarnation_), registration_version);
  work->request.api_key = static_cast<int16_t>(work->decoded.api);
  work->reply = [](const Result<Bytes>&) {};
  decide(std::move(work));
}

void MetadataLoop::maybe_register_with_leader() {
  if (!controller_ || registering_ || active() || stopping_ || failed_ || !surroundings_.channel || next_ < committed_ || now().monotonic < next_registration_) return;
  const QuorumView quorum = view();
  // Before the first leader's records there is no metadata.version to go by.
  if (!quorum.leader_endpoint || quorum.is_leader || !committed_replay_->stable().features.metadata_version) return;
  if (is_registered(committed_replay_->stable(), config_->node_id, incarnation_)) return;
  auto body = wire::encode_to_bytes(registration(*config_, controller_listeners_, incarnation_), registration_version);
  CHECK(body.has_value(), "{}", body.error().message);
  registering_ = true;
  next_registration_ = now().monotonic + retry_delay;
  auto done = [this](const Result<Bytes>& answer) {
    ErrorCode error = answer ? ErrorCode::NONE : answer.error().code;
    if (answer) {
      const auto response = wire::decode_exactly<wire::ControllerRegistrationResponse>(registration_version, *answer, wire::DecodeMode::LENIENT);
      error = response ? static_cast<ErrorCode>(response->error_code) : response.error().code;
    }
    // Records of somebody else will come, and with them the next attempt.
    surroundings_.metadata.post([this, error] {
      registering_ = false;
      if (error != ErrorCode::NONE) print_(1, fmt::format("controller {} is not registered yet: {}", config_->node_id, error_name(error)));
    });
  };
  surroundings_.raft.post([this, to = *quorum.leader_endpoint, body = std::move(*body), done = std::move(done)]() mutable {
    surroundings_.channel->send({to.host, to.port}, wire::ControllerRegistrationRequest::info().key, registration_version, std::move(body),
                                config_->milliseconds("controller.quorum.request.timeout.ms"), std::move(done));
  });
}

}  // namespace castellan::quorum

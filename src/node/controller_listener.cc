// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/controller_listener.h"

#include "broker/names.h"
#include "image/image.h"
#include "node/envelope.h"
#include "wire/messages/api_versions_request.h"
#include "wire/messages/api_versions_response.h"
#include "wire/messages/describe_cluster_request.h"
#include "wire/messages/describe_cluster_response.h"

namespace castellan::node {

namespace {

using Response = wire::ApiVersionsResponse;

bool served(const wire::ApiInfo& api) {
  if (!(api.listeners & wire::LISTENER_CONTROLLER)) return false;
  if (api.key == wire::ApiKey::API_VERSIONS || api.key == wire::ApiKey::DESCRIBE_CLUSTER || api.key == wire::ApiKey::ENVELOPE) return true;
  return quorum::MetadataNode::handles(static_cast<int16_t>(api.key));
}

int16_t last_version(const wire::ApiInfo& api) { return static_cast<int16_t>(api.valid.last - (api.latest_unstable ? 1 : 0)); }

template <class M>
void send(net::Request& request, const M& response) {
  auto frame = wire::encode_response(request.start(), response);
  if (!frame) return request.close(frame.error().message);
  request.respond(std::move(*frame));
}

}  // namespace

void ControllerListener::answer_api_versions(net::Request request) {
  const auto& start = request.start();
  Response response;
  if (!start.version_supported) {
    response.error_code = static_cast<int16_t>(ErrorCode::UNSUPPORTED_VERSION);
    response.api_keys.push_back({.api_key = static_cast<int16_t>(start.api->key), .min_version = start.api->valid.first, .max_version = last_version(*start.api)});
    return send(request, response);
  }
  for (const auto& api : wire::all_apis()) {
    if (served(api)) response.api_keys.push_back({.api_key = static_cast<int16_t>(api.key), .min_version = api.valid.first, .max_version = last_version(api)});
  }
  if (start.version >= 3) {
    const auto image = node_.image();
    for (const auto& [name, range] : image::supported_features(false)) {
      // Clients before version 4 cannot read a range that begins at 0 (KAFKA-17011).
      if (start.version < 4 && range.min == 0) continue;
      response.supported_features.push_back({.name = name, .min_version = range.min, .max_version = range.max});
    }
    const auto finalized = [&](std::string_view name, int16_t level) {
      if (level > 0) response.finalized_features.push_back({.name = std::string(name), .max_version_level = level, .min_version_level = level});
    };
    if (image->features.metadata_version) finalized(image::metadata_version_feature, image->features.metadata_version->level());
    for (const auto& [name, level] : image->features.levels) finalized(name, level);
    finalized(image::kraft_version_feature, node_.view().kraft_version);
    response.finalized_features_epoch = image->last_offset.value;
  }
  send(request, response);
}

void ControllerListener::answer_describe_cluster(net::Request request) {
  const auto& start = request.start();
  wire::Reader reader(request.body());
  const auto body = wire::decode_as<wire::DescribeClusterRequest>(start.version, reader);
  if (!body) return request.close(body.error().message);
  constexpr int8_t controllers = 2;
  wire::DescribeClusterResponse response;
  response.cluster_id = cluster_id_;
  response.endpoint_type = controllers;
  const auto image = node_.image();
  if (start.version < 1 || body->endpoint_type != controllers) {
    const auto error = start.version < 1 || body->endpoint_type == 1 ? ErrorCode::MISMATCHED_ENDPOINT_TYPE : ErrorCode::UNSUPPORTED_ENDPOINT_TYPE;
    response.error_code = static_cast<int16_t>(error);
    response.error_message = "The request was sent to a controller; it can describe controllers only.";
  } else if (!image->features.version_or_minimum().controller_registration_supported()) {
    response.error_code = static_cast<int16_t>(ErrorCode::UNSUPPORTED_VERSION);
    response.error_message = "The metadata does not have the addresses of the controllers (yet).";
  } else {
    for (const auto& [id, registration] : image->cluster.controllers) {
      const auto endpoint = std::ranges::find(registration.endpoints, request.info().listener, &image::Endpoint::name);
      if (endpoint == registration.endpoints.end()) continue;
      auto& described = response.brokers.emplace_back();
      described.broker_id = id.value;
      described.host = endpoint->host;
      described.port = endpoint->port;
    }
    response.controller_id = node_.view().leader.value_or(no_node).value;
  }
  if (body->include_cluster_authorized_operations) response.cluster_authorized_operations = broker::all_cluster_operations;
  send(request, response);
}

void ControllerListener::ask(quorum::MetadataRequest call, std::function<void(Result<Bytes>)> done) {
  auto asked = std::make_shared<quorum::MetadataRequest>(call);
  node_.handle(std::move(call), [this, asked = std::move(asked), done = std::move(done)](Result<Bytes> answer) mutable {
    if (!answer && answer.error().code == ErrorCode::NOT_CONTROLLER) {
      if (auto body = quorum::MetadataNode::error_body(*asked, answer.error())) answer = std::move(*body);
    }
    reactor_.dispatch([done = std::move(done), answer = std::move(answer)]() mutable { done(std::move(answer)); });
  });
}

void ControllerListener::open_envelope(net::Request request) {
  wire::Reader reader(request.body());
  const auto envelope = wire::decode_as<wire::EnvelopeRequest>(request.start().version, reader);
  if (!envelope) return request.close(envelope.error().message);
  auto wrapped = unwrap(*envelope);
  if (!wrapped) {
    wire::EnvelopeResponse refusal;
    refusal.error_code = static_cast<int16_t>(wrapped.error().code);
    return send(request, refusal);
  }
  auto call = std::move(wrapped->request);
  call.listener = request.info().listener;
  call.forwarded = true;
  auto waiting = std::make_shared<net::Request>(std::move(request));
  node_.handle(std::move(call), [this, waiting = std::move(waiting), wrapped = std::move(*wrapped)](Result<Bytes> answer) mutable {
    reactor_.dispatch([waiting = std::move(waiting), response = answer_envelope(wrapped, answer)] { send(*waiting, response); });
  });
}

void ControllerListener::on_request(net::Request request) {
  const auto& start = request.start();
  if (start.api->key == wire::ApiKey::API_VERSIONS) return answer_api_versions(std::move(request));
  if (!served(*start.api)) return request.close(fmt::format("{} is not served on a controller's listener", start.api->name));
  if (start.api->key == wire::ApiKey::DESCRIBE_CLUSTER) return answer_describe_cluster(std::move(request));
  if (start.api->key == wire::ApiKey::ENVELOPE) return open_envelope(std::move(request));
  const auto body = request.body();
  quorum::MetadataRequest call{.api_key = static_cast<int16_t>(start.api->key),
                               .api_version = start.version,
                               .body = Bytes(body.begin(), body.end()),
                               .listener = request.info().listener,
                               .principal = "User:ANONYMOUS",
                               .client_host = request.info().remote_host,
                               .client_id = start.client_id};
  auto waiting = std::make_shared<net::Request>(std::move(request));
  ask(std::move(call), [waiting = std::move(waiting)](const Result<Bytes>& answer) {
    if (!answer) return waiting->close(fmt::format("{}: {}", waiting->start().api->name, answer.error().message));
    const auto& asked = waiting->start();
    wire::Writer writer(answer->size() + 16);
    writer.put<int32_t>(0);
    wire::write_response_header(*asked.api, asked.version, asked.correlation_id, writer);
    writer.put_bytes(*answer);
    writer.patch_int32(0, writer.size() - 4);
    waiting->respond(writer.take_chain());
  });
}

}  // namespace castellan::node

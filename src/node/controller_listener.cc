// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/controller_listener.h"

#include "image/image.h"
#include "wire/messages/api_versions_request.h"
#include "wire/messages/api_versions_response.h"

namespace castellan::node {

namespace {

using Response = wire::ApiVersionsResponse;

bool served(const wire::ApiInfo& api) {
  if (!(api.listeners & wire::LISTENER_CONTROLLER)) return false;
  return api.key == wire::ApiKey::API_VERSIONS || quorum::MetadataNode::handles(static_cast<int16_t>(api.key));
}

int16_t last_version(const wire::ApiInfo& api) { return static_cast<int16_t>(api.valid.last - (api.latest_unstable ? 1 : 0)); }

void send(net::Request& request, const Response& response) {
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
    for (const auto& feature : image::features()) {
      const bool metadata = feature.name == image::metadata_version_feature;
      const int16_t first = metadata ? image::MetadataVersion::level_min : feature.level_min();
      if (start.version < 4 && first == 0) continue;
      response.supported_features.push_back({.name = std::string(feature.name), .min_version = first, .max_version = feature.latest_production});
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

void ControllerListener::on_request(net::Request request) {
  const auto& start = request.start();
  if (start.api->key == wire::ApiKey::API_VERSIONS) return answer_api_versions(std::move(request));
  if (!served(*start.api)) return request.close(fmt::format("{} is not served on a controller's listener", start.api->name));
  const auto body = request.body();
  quorum::MetadataRequest call{.api_key = static_cast<int16_t>(start.api->key),
                               .api_version = start.version,
                               .body = Bytes(body.begin(), body.end()),
                               .listener = request.info().listener,
                               .principal = "User:ANONYMOUS",
                               .client_host = request.info().remote_host,
                               .client_id = start.client_id};
  auto waiting = std::make_shared<net::Request>(std::move(request));
  node_.handle(std::move(call), [this, waiting = std::move(waiting)](Result<Bytes> answer) mutable {
    reactor_.post([waiting = std::move(waiting), answer = std::move(answer)] {
      if (!answer) return waiting->close(fmt::format("{}: {}", waiting->start().api->name, answer.error().message));
      const auto& asked = waiting->start();
      wire::Writer writer(answer->size() + 16);
      writer.put<int32_t>(0);
      wire::write_response_header(*asked.api, asked.version, asked.correlation_id, writer);
      writer.put_bytes(*answer);
      writer.patch_int32(0, writer.size() - 4);
      waiting->respond(writer.take_chain());
    });
  });
}

}  // namespace castellan::node

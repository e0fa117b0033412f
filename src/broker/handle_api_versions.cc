// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// ApiVersions (B18 to B25): what this listener serves and which features the cluster has.

#include "broker/api_table.h"
#include "broker/broker.h"
#include "broker/handlers.h"
#include "image/image.h"
#include "wire/messages/api_versions_request.h"
#include "wire/messages/api_versions_response.h"

namespace castellan::broker {

namespace {

using Response = wire::ApiVersionsResponse;

// [a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])? : names that metrics can carry (KIP-511).
bool is_software_name(std::string_view name) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (name.empty() || !alphanumeric(name.front()) || !alphanumeric(name.back())) return false;
  return std::ranges::all_of(name, [&](char c) { return alphanumeric(c) || c == '-' || c == '.'; });
}

ErrorCode check(const Broker& broker, const Request& request, const wire::ApiVersionsRequest& body) {
  if (!request.start().version_supported) return ErrorCode::UNSUPPORTED_VERSION;
  if (request.version() >= 3 && (!is_software_name(body.client_software_name) || !is_software_name(body.client_software_version))) {
    return ErrorCode::INVALID_REQUEST;
  }
  if (request.version() >= 5) {  // KIP-1242: does the client talk to whom it thinks?
    const bool names_node = body.node_id >= 0;
    if (body.cluster_id.has_value() != names_node) return ErrorCode::INVALID_REQUEST;
    if (names_node && (*body.cluster_id != broker.options().cluster_id || body.node_id != broker.node_id().value)) {
      return ErrorCode::REBOOTSTRAP_REQUIRED;
    }
  }
  return ErrorCode::NONE;
}

void add_features(const Broker& broker, int16_t version, Response& response) {
  const auto supported = [&](std::string_view name, int16_t first, int16_t last) {
    // Clients before version 4 cannot read a range that begins at 0 (KAFKA-17011).
    if (version < 4 && first == 0) return;
    response.supported_features.push_back({.name = std::string(name), .min_version = first, .max_version = last});
  };
  const auto finalized = [&](std::string_view name, int16_t level) {
    if (level == 0) return;
    response.finalized_features.push_back({.name = std::string(name), .max_version_level = level, .min_version_level = level});
  };
  supported(image::metadata_version_feature, image::MetadataVersion::level_min, image::MetadataVersion::level_latest_production);
  for (const auto& feature : image::features()) {
    if (feature.name == image::metadata_version_feature) continue;
    supported(feature.name, feature.level_min(), feature.latest_production);
  }
  const auto& features = broker.image().features;
  if (features.metadata_version) finalized(image::metadata_version_feature, features.metadata_version->level());
  for (const auto& [name, level] : features.levels) finalized(name, level);
  if (broker.options().kraft_version) finalized(image::kraft_version_feature, broker.options().kraft_version());
  response.finalized_features_epoch = broker.image().last_offset.value;
}

}  // namespace

void handle_api_versions(Broker& broker, RequestPtr request, wire::ApiVersionsRequest& body) {
  Response response;
  const auto error = check(broker, *request, body);
  response.error_code = static_cast<int16_t>(error);
  if (error == ErrorCode::UNSUPPORTED_VERSION) {
    const auto& own = *find_api(static_cast<int16_t>(wire::ApiKey::API_VERSIONS));
    response.api_keys.push_back({.api_key = static_cast<int16_t>(own.key), .min_version = own.served.first, .max_version = own.served.last});
  } else if (error == ErrorCode::NONE) {
    for (const auto& api : apis()) {
      response.api_keys.push_back({.api_key = static_cast<int16_t>(api.key), .min_version = api.advertised_first, .max_version = api.served.last});
    }
    if (request->version() >= 3) add_features(broker, request->version(), response);
  }
  reply(*request, response);
}

}  // namespace castellan::broker

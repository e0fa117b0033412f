// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// DescribeCluster (B148).

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/metadata_view.h"
#include "broker/names.h"
#include "wire/messages/describe_cluster_request.h"
#include "wire/messages/describe_cluster_response.h"

namespace castellan::broker {

void handle_describe_cluster(Broker& broker, RequestPtr request, wire::DescribeClusterRequest& body) {
  constexpr int8_t brokers = 1;
  constexpr int8_t controllers = 2;
  wire::DescribeClusterResponse response;
  if (body.endpoint_type != brokers) {
    const auto error = body.endpoint_type == controllers ? ErrorCode::MISMATCHED_ENDPOINT_TYPE : ErrorCode::UNSUPPORTED_ENDPOINT_TYPE;
    response.error_code = static_cast<int16_t>(error);
    response.error_message = "The request was sent to a broker; it can describe brokers only.";
    return reply(*request, response);
  }
  const MetadataView view{broker.image(), request->listener()};
  const auto alive = view.alive_brokers();
  for (const auto& [id, registration] : view.image.cluster.brokers) {
    const auto* endpoint = registration.endpoint(view.listener);
    if (!endpoint || (registration.fenced && !body.include_fenced_brokers)) continue;
    auto& described = response.brokers.emplace_back();
    described.broker_id = id.value;
    described.host = endpoint->host;
    described.port = endpoint->port;
    described.rack = registration.rack;
    described.is_fenced = request->version() >= 2 && registration.fenced;
  }
  response.cluster_id = broker.options().cluster_id;
  response.controller_id = alive.empty() ? -1 : alive[broker.prng().below(alive.size())]->id.value;
  if (body.include_cluster_authorized_operations) response.cluster_authorized_operations = all_cluster_operations;
  reply(*request, response);
}

}  // namespace castellan::broker

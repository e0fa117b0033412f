// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/listener_metrics.h"

#include "base/check.h"

namespace castellan::net {

namespace {

constexpr double millisecond_bounds[] = {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000};

}  // namespace

ListenerMetrics::ListenerMetrics(metrics::Registry& registry, const std::string& listener)
    : accepted(registry.counter("kafka_server_socket_server_metrics_connection_creation_total", "Connections accepted.", {{"listener", listener}})),
      bytes_in(registry.counter("kafka_server_socket_server_metrics_incoming_byte_total", "Bytes of requests received.", {{"listener", listener}})),
      bytes_out(registry.counter("kafka_server_socket_server_metrics_outgoing_byte_total", "Bytes of answers sent.", {{"listener", listener}})),
      refused(registry.counter("castellan_connections_refused_total", "Connections closed for what they sent, or as one too many.", {{"listener", listener}})),
      connections(registry.gauge("kafka_server_socket_server_metrics_connection_count", "Open connections.", {{"listener", listener}})),
      registry_(registry),
      listener_(listener) {}

ListenerMetrics::OfApi& ListenerMetrics::of(const wire::ApiInfo& api) {
  const auto key = static_cast<size_t>(api.key);
  CHECK(key < by_api_.size(), "API {} is beyond the table", key);
  OfApi& metrics = by_api_[key];
  if (!metrics.requests) {
    const metrics::Labels labels{{"request", std::string(api.name)}, {"listener", listener_}};
    metrics.requests = &registry_.counter("kafka_network_requestmetrics_requests_total", "Requests answered.", labels);
    metrics.milliseconds = &registry_.histogram("kafka_network_requestmetrics_totaltimems",
                                                "Milliseconds from a whole request to its whole answer; a fetch that waits for data counts with its wait.",
                                                millisecond_bounds, labels);
  }
  return metrics;
}

void ListenerMetrics::answered(const wire::ApiInfo& api, Duration took) {
  OfApi& metrics = of(api);
  metrics.requests->add();
  metrics.milliseconds->observe(std::chrono::duration<double, std::milli>(took).count());
}

}  // namespace castellan::net

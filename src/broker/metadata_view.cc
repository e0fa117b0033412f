// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/metadata_view.h"

namespace castellan::broker {

std::vector<const image::BrokerRegistration*> MetadataView::alive_brokers() const {
  std::vector<const image::BrokerRegistration*> brokers;
  for (const auto& [id, broker] : image.cluster.brokers) {
    if (!broker.fenced && broker.endpoint(listener)) brokers.push_back(&broker);
  }
  return brokers;
}

const image::Endpoint* MetadataView::endpoint(NodeId id) const {
  const auto* broker = image.cluster.broker(id);
  return broker ? broker->endpoint(listener) : nullptr;
}

bool MetadataView::alive(NodeId id) const {
  const auto* broker = image.cluster.broker(id);
  return broker && !broker->fenced && broker->endpoint(listener);
}

std::vector<int32_t> MetadataView::offline_replicas(const image::Partition& partition) const {
  std::vector<int32_t> offline;
  const auto replicas = partition.replicas();
  for (size_t i = 0; i < replicas.size(); ++i) {
    const auto* broker = image.cluster.broker(replicas[i]);
    if (!alive(replicas[i]) || !broker->has_online_directory(partition.directory(i))) offline.push_back(replicas[i].value);
  }
  return offline;
}

std::vector<int32_t> to_numbers(std::span<const NodeId> nodes) {
  std::vector<int32_t> numbers;
  numbers.reserve(nodes.size());
  for (const NodeId node : nodes) numbers.push_back(node.value);
  return numbers;
}

}  // namespace castellan::broker

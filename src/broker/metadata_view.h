// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The questions that answers about metadata ask of an image, with the listener of the client in mind.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "image/image.h"

namespace castellan::broker {

struct MetadataView {
  const image::Image& image;
  std::string_view listener;

  // Unfenced brokers that have the client's listener, by id.
  std::vector<const image::BrokerRegistration*> alive_brokers() const;
  const image::Endpoint* endpoint(NodeId broker) const;
  bool alive(NodeId broker) const;
  // Replicas that cannot serve this client: their broker is away or fenced, lacks the listener, or lost their directory.
  std::vector<int32_t> offline_replicas(const image::Partition& partition) const;
};

std::vector<int32_t> to_numbers(std::span<const NodeId> nodes);

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/new_partitions.h"

#include "controller/placement.h"
#include "controller/replicas.h"

namespace castellan::controller {

std::vector<NodeId> node_ids(std::span<const int32_t> ids) {
  std::vector<NodeId> nodes;
  for (int32_t id : ids) nodes.emplace_back(id);
  return nodes;
}

std::optional<PartitionState> new_partition(const Context& context, const std::vector<NodeId>& replicas) {
  PartitionState state{.replicas = replicas};
  for (NodeId replica : replicas) {
    state.directories.push_back(default_directory(context, replica));
    const image::BrokerRegistration* broker = context.image.cluster.broker(replica);
    if (broker != nullptr && broker->active()) state.isr.push_back(replica);
  }
  if (state.isr.empty()) return std::nullopt;
  state.leader = state.isr.front();
  return state;
}

Result<std::vector<PartitionState>> place_partitions(const Context& context, int32_t partitions, int16_t replication_factor) {
  std::vector<UsableBroker> usable;
  for (const auto& [id, broker] : context.image.cluster.brokers) {
    if (broker.in_controlled_shutdown || broker.all_directories_cordoned()) continue;
    usable.push_back({.id = id, .rack = broker.rack, .fenced = broker.fenced});
  }
  const auto refused = [&](std::string_view why) {
    return fail(ErrorCode::INVALID_REPLICATION_FACTOR, "Unable to replicate the partition {} time(s): {}", replication_factor, why);
  };
  auto placed = place_replicas(usable, partitions, replication_factor, context.random);
  if (!placed) return refused(placed.error().message);
  std::vector<PartitionState> states;
  states.reserve(placed->size());
  for (const auto& replicas : *placed) {
    auto state = new_partition(context, replicas);
    if (!state) return refused("All brokers are currently fenced or in controlled shutdown.");
    states.push_back(std::move(*state));
  }
  return states;
}

}  // namespace castellan::controller

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

namespace {

// Into a state that is used again and again: a topic may have thousands. False when none of the replicas is active.
bool fill_partition(const Context& context, std::span<const NodeId> replicas, PartitionState& state) {
  state.replicas.assign(replicas.begin(), replicas.end());
  state.directories.clear();
  state.isr.clear();
  for (NodeId replica : replicas) {
    state.directories.push_back(default_directory(context, replica));
    const image::BrokerRegistration* broker = context.image.cluster.broker(replica);
    if (broker != nullptr && broker->active()) state.isr.push_back(replica);
  }
  if (state.isr.empty()) return false;
  state.leader = state.isr.front();
  return true;
}

}  // namespace

std::optional<PartitionState> new_partition(const Context& context, const std::vector<NodeId>& replicas) {
  PartitionState state;
  if (!fill_partition(context, replicas, state)) return std::nullopt;
  return state;
}

Result<void> place_partitions(const Context& context, int32_t partitions, int16_t replication_factor, const PartitionSink& sink) {
  std::vector<UsableBroker> usable;
  for (const auto& [id, broker] : context.image.cluster.brokers) {
    if (broker.in_controlled_shutdown || broker.all_directories_cordoned()) continue;
    usable.push_back({.id = id, .rack = broker.rack, .fenced = broker.fenced});
  }
  PartitionState state;
  bool all_active = true;
  auto placed = place_each(usable, partitions, replication_factor, context.random, [&](std::span<const NodeId> replicas) {
    all_active = all_active && fill_partition(context, replicas, state);
    if (all_active) sink(state);
  });
  if (placed && !all_active) placed = fail(ErrorCode::INVALID_REPLICATION_FACTOR, "All brokers are currently fenced or in controlled shutdown.");
  if (placed) return {};
  return fail(ErrorCode::INVALID_REPLICATION_FACTOR, "Unable to replicate the partition {} time(s): {}", replication_factor, placed.error().message);
}

Result<std::vector<PartitionState>> place_partitions(const Context& context, int32_t partitions, int16_t replication_factor) {
  std::vector<PartitionState> states;
  TRY_VOID(place_partitions(context, partitions, replication_factor, [&](const PartitionState& state) { states.push_back(state); }));
  return states;
}

}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The first state of partitions that are about to be made: where their replicas go, who is in sync, who leads.

#pragma once

#include <functional>
#include <span>

#include "controller/partition_change.h"

namespace castellan::controller {

// A new partition with these replicas: in sync are those that are active, the first of them leads. Nothing when none is.
std::optional<PartitionState> new_partition(const Context& context, const std::vector<NodeId>& replicas);

// Placed by the striped placer over the brokers that may take replicas. Errors: INVALID_REPLICATION_FACTOR.
Result<std::vector<PartitionState>> place_partitions(const Context& context, int32_t partitions, int16_t replication_factor);
// The same one after another: the state is lent. When it fails, `sink` may have had some already.
using PartitionSink = std::function<void(const PartitionState&)>;
Result<void> place_partitions(const Context& context, int32_t partitions, int16_t replication_factor, const PartitionSink& sink);

std::vector<NodeId> node_ids(std::span<const int32_t> ids);

}  // namespace castellan::controller

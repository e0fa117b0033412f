// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Which brokers get the replicas of new partitions. Kafka's striped placement (KIP-36): brokers are grouped by rack; each
// partition begins one rack further than the one before, takes its leader from the first rack that still has an unfenced
// broker in this round, and its other replicas from the racks in turn, unfenced brokers before fenced ones. When every
// unfenced broker has led once, all orders are shuffled. So leaders and replicas spread evenly, over racks as far as the
// brokers allow.
//
// Pure: the randomness is the caller's generator.

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "base/result.h"

namespace castellan::controller {

struct UsableBroker {
  NodeId id;
  std::optional<std::string> rack;
  bool fenced = false;
};

// The replicas of `partitions` partitions, leaders first.
// Errors: INVALID_REPLICATION_FACTOR when there are too few brokers, or none that is unfenced.
Result<std::vector<std::vector<NodeId>>> place_replicas(const std::vector<UsableBroker>& brokers, int32_t partitions, int16_t replication_factor,
                                                        Prng& random);
// The same one partition after another; the replicas are lent.
Result<void> place_each(const std::vector<UsableBroker>& brokers, int32_t partitions, int16_t replication_factor, Prng& random,
                        const std::function<void(std::span<const NodeId>)>& sink);

}  // namespace castellan::controller

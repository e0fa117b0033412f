// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Reading partitions for one Fetch: what is there now, in order, within the request's limits (B114 to B126). Nothing is
// copied: a partition's records are a range of its segment's file.
//
// Plain functions over Partitions; one loop.

#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "broker/partition.h"
#include "wire/messages/fetch_response.h"

namespace castellan::broker {

class Broker;

// One partition that a fetch asks for.
struct FetchTarget {
  std::string topic;   // empty: the id names no topic
  ErrorCode unknown_is = ErrorCode::UNKNOWN_TOPIC_ID;  // what to answer then
  TopicId topic_id;
  int32_t index = 0;
  int64_t offset = 0;
  int32_t max_bytes = 0;
  int32_t leader_epoch = -1;
  int32_t last_fetched_epoch = -1;
};

struct FetchLimits {
  int16_t version = 0;
  int32_t replica_id = -1;
  bool read_committed = false;
  int64_t max_bytes = 0;
  bool may_block = false;  // records are read even where a disk must be waited for
};

struct FetchResult {
  std::vector<wire::FetchResponse::PartitionData> partitions;  // one for each target, in their order
  int64_t bytes = 0;
  bool at_once = false;  // an error or a divergence: the client is not kept waiting
  std::vector<log::FetchData> cold;  // not in memory: to be warmed before the answer is sent (cold_reads.h)
};

FetchResult read_targets(Broker& broker, const std::vector<FetchTarget>& targets, const FetchLimits& limits);

}  // namespace castellan::broker

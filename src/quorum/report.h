// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the quorum's replica knows of itself at a moment, for metrics. Asked for (MetadataNode::report), never kept up to date.

#pragma once

#include <string>

#include "base/ids.h"

namespace castellan::quorum {

struct QuorumReport {
  std::string state;          // in Kafka's words: leader, follower, candidate, prospective, unattached, resigned, observer
  NodeId leader = no_node;    // -1: none is known
  NodeId voted_for = no_node; // in this epoch; -1: nobody
  Epoch epoch;
  Offset high_watermark{-1};
  Offset log_end;
  Offset log_start;
  Epoch log_end_epoch{-1};
  size_t voters = 0;
  size_t observers = 0;            // that the leader has heard of lately; 0 elsewhere
  size_t waiting_bytes = 0;        // of proposals that wait for the write that runs
};

}  // namespace castellan::quorum

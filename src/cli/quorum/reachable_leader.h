// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Whether the quorum has a leader that answers: each address is asked whether it leads, and which leader it knows of.
// Blocks, a few seconds for each address that does not answer.

#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "io/channel.h"

namespace castellan::cli {

struct ReachableLeader {
  NodeId id = no_node;
  io::Endpoint address;
};

std::optional<ReachableLeader> find_reachable_leader(const std::vector<io::Endpoint>& addresses);

}  // namespace castellan::cli

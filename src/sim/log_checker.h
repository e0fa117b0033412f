// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Reads a metadata log from the disk of a node that is down, as another program would, and says what is wrong with it: offsets without
// gaps, epochs that never fall, one LeaderChange at the start of each epoch, whole batches.

#pragma once

#include <optional>
#include <string>

#include "io/file.h"

namespace castellan::sim {

// `torn_tail`: the last write may be torn, since the node was killed.
std::optional<std::string> check_metadata_log(io::FileSystem& files, const std::string& folder, bool torn_tail);

}  // namespace castellan::sim

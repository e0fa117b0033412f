// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The first step of opening a log: what a crash left half-done is finished or taken back (B251), so that the folder holds segments and
// their indexes and nothing else. .deleted and .cleaned files go, and .swap files that a compaction had not finished preparing; any other
// .swap takes the place of the segments that it covers; indexes without a segment go.

#pragma once

#include <string>
#include <vector>

#include "io/file.h"
#include "log/log.h"

namespace castellan::log {

Result<void> remove_leftovers(io::FileSystem& files, const std::string& directory, std::vector<Notice>& notices);

}  // namespace castellan::log

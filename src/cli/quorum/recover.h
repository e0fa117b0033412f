// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// castellan quorum recover --config FILE [--dry-run | --yes]: a stopped survivor becomes the only voter of its quorum (quorum/recover.h).
// castellan quorum compare DIR...: which of some stopped controllers has the longest log.
//
// Neither is Apache Kafka's. Both take the locks of the directories they look at, so they refuse beside a running node.

#pragma once

#include <span>

#include "base/result.h"
#include "cli/environment.h"

namespace castellan::cli {

enum class RecoverMode { show, dry_run, yes };

// What to print. `show` prints the plan, and asks for --yes by an error.
Result<std::string> recover_quorum(const std::string& config_file, RecoverMode mode, Environment& environment);

Result<std::string> compare_directories(std::span<const std::string> directories, Environment& environment);

}  // namespace castellan::cli

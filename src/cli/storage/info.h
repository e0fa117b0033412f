// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// `kafka-storage info`: which of a node's directories there are, what they say, and what is wrong with them.

#pragma once

#include <string>
#include <vector>

#include "cli/environment.h"

namespace castellan::cli {

// Prints Kafka's three blocks to environment.out. Returns the exit code: 1 when there was a problem.
int print_storage_info(const std::vector<std::string>& directories, Environment& environment);

}  // namespace castellan::cli

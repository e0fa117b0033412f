// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The node's loggers as Kafka's tools see them (KIP-412): names and levels that can be changed while it runs. There is
// one, "root".
//
// Any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace castellan::broker {

struct Logger {
  std::string name;
  std::string level;  // FATAL, ERROR, WARN, INFO, DEBUG or TRACE
};

std::vector<Logger> loggers();
// INVALID_CONFIG for a logger or level that is not there.
Result<void> check_logger_level(std::string_view name, std::string_view level);
void set_logger_level(std::string_view name, std::string_view level);

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a group's settings have to satisfy: the broker's lower and upper bounds, a heartbeat within the session. For config/ itself.

#pragma once

#include "config/server_config.h"

namespace castellan::config {

// INVALID_CONFIG with Kafka's words (GroupConfig.validate).
Result<void> validate_group(const ConfigMap& after, const ServerConfig& server);

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What has to hold between the keys of a server.properties, beyond each key's own limit. The rules are Kafka's (KafkaConfig.validateValues and the
// coordinators' own), with its words, since scripts look for them. For config/ itself.

#pragma once

#include "config/server_config.h"

namespace castellan::config {

// INVALID_CONFIG for the first rule that does not hold.
Result<void> check_server(const ServerConfig& server);

// Adds a warning for each key that is unknown, deprecated, given to the wrong role, or doubtful in its combination.
void warn_about_keys(ServerConfig& server);

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a client metrics subscription's settings have to satisfy (KIP-714). For config/ itself.

#pragma once

#include "config/properties.h"

namespace castellan::config {

// INVALID_REQUEST or INVALID_CONFIG with Kafka's words (ClientMetricsConfigs.validate).
Result<void> validate_client_metrics(const ConfigMap& after);

// Whether the text can be a regular expression of Java's: groups and classes close, quantifiers have something to repeat, no escape at the end.
// A loose check in one pass without recursion: the text comes from a client, and may be 32 KB of parentheses.
bool is_java_pattern(std::string_view text);

}  // namespace castellan::config

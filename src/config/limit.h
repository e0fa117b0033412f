// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The two halves of parse_value: text to value by a key's type, and a value against a key's limit. Errors are INVALID_CONFIG with the words of
// Kafka's ConfigDef. For config/ itself.

#pragma once

#include "config/table.h"

namespace castellan::config {

Result<Value> parse_type(const Key& key, std::string_view text);
Result<void> check_limit(const Key& key, const Value& value);

// A list keeps the first of equal items (KIP-1161).
void remove_repetitions(Value& value);

// A number as Java's Double.toString writes it: 0.5, 1.0, 1.7976931348623157E308.
std::string java_double_text(double number);

}  // namespace castellan::config

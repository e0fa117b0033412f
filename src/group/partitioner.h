// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Which partition of __consumer_offsets (or __transaction_state) an id lives in: Java's String.hashCode without its sign,
// modulo the number of partitions. Fixed for ever: the record of a group is looked for where an older node put it.

#pragma once

#include <cstdint>
#include <string_view>

namespace castellan::group {

// The hash Java gives the string, over its UTF-16 code units. `text` is UTF-8; a malformed byte counts as U+FFFD.
int32_t java_string_hash(std::string_view text);

// `partition_count` is above 0.
int32_t partition_of(std::string_view id, int32_t partition_count);

// The number of UTF-16 code units, which is what Kafka counts when it limits a string's length.
size_t java_string_length(std::string_view text);

}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Rules about names, and numbers of the protocol that more than one handler needs.

#pragma once

#include <string_view>

#include "base/result.h"

namespace castellan::broker {

inline constexpr std::string_view offsets_topic = "__consumer_offsets";
inline constexpr std::string_view transactions_topic = "__transaction_state";
inline constexpr std::string_view share_state_topic = "__share_group_state";

inline bool is_internal_topic(std::string_view name) {
  return name == offsets_topic || name == transactions_topic || name == share_state_topic;
}

// 1 to 249 of [a-zA-Z0-9._-], neither "." nor ".." (B139).
inline bool is_valid_topic_name(std::string_view name) {
  if (name.empty() || name.size() > 249 || name == "." || name == "..") return false;
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!good) return false;
  }
  return true;
}

// Sets of AclOperation as bits, as they are when nothing is forbidden: all operations of that resource type.
inline constexpr int32_t all_topic_operations = 3576;
inline constexpr int32_t all_cluster_operations = 8096;
inline constexpr int32_t operations_not_asked_for = INT32_MIN;

}  // namespace castellan::broker

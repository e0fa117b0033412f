// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/api.h"

#include <algorithm>

namespace castellan::wire {

const ApiInfo* find_api(int16_t key) {
  const auto apis = all_apis();
  const auto found = std::lower_bound(apis.begin(), apis.end(), key, [](const ApiInfo& api, int16_t k) { return static_cast<int16_t>(api.key) < k; });
  return found != apis.end() && static_cast<int16_t>(found->key) == key ? &*found : nullptr;
}

const MessageInfo* find_message(std::string_view name) {
  const auto messages = all_messages();
  const auto found =
      std::lower_bound(messages.begin(), messages.end(), name, [](const MessageInfo* message, std::string_view n) { return message->name < n; });
  return found != messages.end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace castellan::wire

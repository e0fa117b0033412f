// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/cluster.h"

#include <algorithm>

namespace castellan::image {

const Endpoint* BrokerRegistration::endpoint(std::string_view listener) const {
  for (const Endpoint& each : endpoints) {
    if (each.name == listener) return &each;
  }
  return nullptr;
}

bool BrokerRegistration::has_online_directory(DirectoryId id) const {
  if (id == directory_unassigned || id == directory_migrating) return true;
  if (id == directory_lost) return false;
  return log_dirs.empty() || std::ranges::binary_search(log_dirs, id, directory_before);
}

bool BrokerRegistration::all_directories_cordoned() const {
  if (!cordoned_log_dirs || log_dirs.empty()) return false;
  return std::ranges::all_of(log_dirs, [&](DirectoryId id) { return std::ranges::find(*cordoned_log_dirs, id) != cordoned_log_dirs->end(); });
}

}  // namespace castellan::image

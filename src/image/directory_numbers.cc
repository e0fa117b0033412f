// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/directory_numbers.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "base/check.h"

namespace castellan::image {

namespace {

struct Table {
  std::shared_mutex mutex;
  std::unordered_map<DirectoryId, uint32_t> numbers;
  std::deque<DirectoryId> ids;
};

Table& table() {
  static auto& the_table = *new Table();  // never destroyed: partitions may be looked at while the program ends
  return the_table;
}

}  // namespace

uint32_t directory_number(DirectoryId id) {
  Table& all = table();
  {
    const std::shared_lock lock(all.mutex);
    if (const auto found = all.numbers.find(id); found != all.numbers.end()) return found->second;
  }
  const std::unique_lock lock(all.mutex);
  const auto [entry, inserted] = all.numbers.emplace(id, static_cast<uint32_t>(all.ids.size()));
  if (inserted) all.ids.push_back(id);
  return entry->second;
}

DirectoryId directory_by_number(uint32_t number) {
  Table& all = table();
  const std::shared_lock lock(all.mutex);
  CHECK(number < all.ids.size(), "directory number {} of {}", number, all.ids.size());
  return all.ids[number];
}

}  // namespace castellan::image

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/directory_numbers.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

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

uint32_t number_in_table(DirectoryId id) {
  Table& all = table();
  const std::unique_lock lock(all.mutex);
  const auto [entry, inserted] = all.numbers.emplace(id, static_cast<uint32_t>(all.ids.size()));
  if (inserted) all.ids.push_back(id);
  return entry->second;
}

}  // namespace

// A number never changes its id, so each thread keeps what it has looked up and takes no lock for it again.
uint32_t directory_number(DirectoryId id) {
  thread_local std::unordered_map<DirectoryId, uint32_t> known;
  if (const auto found = known.find(id); found != known.end()) return found->second;
  return known[id] = number_in_table(id);
}

DirectoryId directory_by_number(uint32_t number) {
  thread_local std::vector<DirectoryId> known;
  if (number >= known.size()) {
    Table& all = table();
    const std::shared_lock lock(all.mutex);
    CHECK(number < all.ids.size(), "directory number {} of {}", number, all.ids.size());
    known.assign(all.ids.begin(), all.ids.end());
  }
  return known[number];
}

}  // namespace castellan::image

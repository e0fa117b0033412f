// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Values that control records set, by the offset of the record that set them. A value is in force from the moment its
// record is appended, committed or not; truncation takes it back (KIP-853). Offset -1 is the bootstrap snapshot.

#pragma once

#include <map>
#include <optional>

#include "base/check.h"
#include "base/ids.h"

namespace castellan::raft {

template <class T>
class History {
 public:
  struct Entry {
    Offset offset;
    const T& value;
  };

  void add(Offset offset, T value) {
    CHECK(offset.value >= -1 && (values_.empty() || values_.rbegin()->first < offset), "offset {} does not follow", offset);
    values_.emplace(offset, std::move(value));
  }

  std::optional<Entry> last() const {
    if (values_.empty()) return std::nullopt;
    return Entry{values_.rbegin()->first, values_.rbegin()->second};
  }

  // The value in force at `offset`.
  std::optional<Entry> at(Offset offset) const {
    auto after = values_.upper_bound(offset);
    if (after == values_.begin()) return std::nullopt;
    --after;
    return Entry{after->first, after->second};
  }

  // The log now ends at `end`.
  void truncate_to(Offset end) { values_.erase(values_.lower_bound(end), values_.end()); }

  // Nobody asks for offsets before `start` any more: what is in force there stays.
  void forget_before(Offset start) {
    auto after = values_.upper_bound(start);
    if (after == values_.begin()) return;
    values_.erase(values_.begin(), --after);
  }

  void clear() { values_.clear(); }

 private:
  std::map<Offset, T> values_;
};

}  // namespace castellan::raft

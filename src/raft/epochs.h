// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Where each leader epoch starts in the log: what tells two logs apart without comparing records (KIP-101, KIP-595).

#pragma once

#include <optional>
#include <vector>

#include "raft/types.h"

namespace castellan::raft {

class EpochTable {
 public:
  struct Entry {
    Epoch epoch;
    Offset start;

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // Invariant: epochs and starts strictly increase.
  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  std::optional<Entry> last() const;

  // A record of `epoch` is, or will be, at `start`. Entries that this contradicts go.
  void assign(Epoch epoch, Offset start);
  // Where `epoch` ends in a log that ends at `log_end`: the greatest epoch up to `epoch`, and the start of the one after
  // it. An epoch before all known ones ends where those start.
  LogPosition end_of(Epoch epoch, Offset log_end) const;
  // The epoch of the record at `offset`.
  std::optional<Epoch> epoch_at(Offset offset) const;
  // The log now ends at `end`, or starts at `start`.
  void truncate_to(Offset end);
  void forget_before(Offset start);
  void clear() { entries_.clear(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace castellan::raft

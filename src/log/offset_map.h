// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Key -> latest offset for one round of compaction, in a fixed amount of memory: of a key only 128 bits of its SHA-256 are kept,
// 24 bytes for each, in an open-addressing table that grows up to its limit. Two keys that hash alike would be taken for one, so the hash is
// one that nobody can make collide.
//
// One thread at a time.

#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace castellan::log {

class OffsetMap {
 public:
  // Kafka's names: log.cleaner.dedupe.buffer.size and log.cleaner.io.buffer.load.factor.
  explicit OffsetMap(size_t memory_bytes, double load_factor = 0.9);

  // False when the map is full and the key is not in it.
  bool put(BytesView key, int64_t offset);
  // The latest offset of the key, -1 when it is not there.
  int64_t find(BytesView key) const;
  size_t size() const { return used_; }
  size_t capacity() const { return limit_; }  // keys

  // Offsets up to here have been taken in.
  int64_t latest_offset() const { return latest_offset_; }
  void set_latest_offset(int64_t offset) { latest_offset_ = offset; }
  void clear();  // keeps no memory

 private:
  struct Slot {
    uint64_t high = 0, low = 0;
    int64_t offset = -1;  // -1 free
  };
  static Slot hash(BytesView key);
  size_t place(const Slot& key) const;  // of the key, or the free slot where it belongs
  void grow();

  size_t limit_;
  size_t most_slots_;
  size_t used_ = 0;
  int64_t latest_offset_ = -1;
  std::vector<Slot> slots_;
};

}  // namespace castellan::log

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A small seeded generator (xoshiro256**, public domain algorithm by Blackman and Vigna), the same on every machine:
// simulator seeds and election jitter must replay exactly, which std::distributions do not promise.

#pragma once

#include <cstdint>

#include "base/uuid.h"

namespace castellan {

class Prng {
 public:
  explicit Prng(uint64_t seed) {
    for (auto& word : state_) {  // splitmix64 spreads a small seed over the whole state
      seed += 0x9e3779b97f4a7c15ull;
      uint64_t z = seed;
      z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
      z = (z ^ z >> 27) * 0x94d049bb133111ebull;
      word = z ^ z >> 31;
    }
  }

  uint64_t next() {
    const auto rotate = [](uint64_t x, int k) { return x << k | x >> (64 - k); };
    const uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Below `bound`, which is above 0; the bias of a 64-bit multiply is far below what any use here could see.
  uint64_t below(uint64_t bound) { return static_cast<uint64_t>(static_cast<unsigned __int128>(next()) * bound >> 64); }
  // Both ends inclusive.
  int64_t between(int64_t first, int64_t last) { return first + static_cast<int64_t>(below(static_cast<uint64_t>(last - first) + 1)); }
  bool chance(double probability) { return static_cast<double>(next() >> 11) * 0x1p-53 < probability; }

  // A version 4 id that is not reserved and does not begin with '-' in text, as Kafka's Uuid.randomUuid.
  Uuid uuid() {
    for (;;) {
      Uuid id{next(), next()};
      id.high = (id.high & ~0xf000ull) | 0x4000ull;
      id.low = (id.low & ~(3ull << 62)) | 1ull << 63;
      if (id.text().front() != '-') return id;
    }
  }

 private:
  uint64_t state_[4];
};

}  // namespace castellan

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// 128 bits that stand for a state: two states with one digest are taken for the same. Among a hundred million states the chance that
// two different ones meet is below 10^-22.

#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace castellan::raft {

struct Digest {
  uint64_t a = 0x243f6a8885a308d3;
  uint64_t b = 0x13198a2e03707344;

  void add(uint64_t word) {
    a = mix(a ^ word);
    b = mix(std::rotl(b, 23) + word * 0x9e3779b97f4a7c15);
  }
  template <class T>
    requires std::is_enum_v<T>
  void add(T value) {
    add(static_cast<uint64_t>(value));
  }
  void add(std::string_view text) {
    add(text.size());
    for (; text.size() >= 8; text.remove_prefix(8)) add(word_of(text.data(), 8));
    if (!text.empty()) add(word_of(text.data(), text.size()));
  }
  void add(const Digest& other) {
    add(other.a);
    add(other.b);
  }
  // For parts whose order does not matter.
  void merge(const Digest& other) {
    a += other.a;
    b += other.b;
  }

  friend bool operator==(const Digest&, const Digest&) = default;

 private:
  static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  static uint64_t word_of(const char* from, size_t size) {
    uint64_t word = 0;
    for (size_t i = 0; i < size; ++i) word |= uint64_t{static_cast<uint8_t>(from[i])} << 8 * i;
    return word;
  }
};

struct DigestHash {
  size_t operator()(const Digest& digest) const { return digest.a; }
};

}  // namespace castellan::raft

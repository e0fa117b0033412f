// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/offset_map.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace castellan::log {
namespace {

constexpr size_t first_slots = 1024;
constexpr double most_filled = 0.9;  // of the table as it stands, before it grows

}  // namespace

OffsetMap::OffsetMap(size_t memory_bytes, double load_factor)
    : most_slots_(std::max<size_t>(memory_bytes / sizeof(Slot), 2)) {
  limit_ = std::clamp<size_t>(static_cast<size_t>(static_cast<double>(most_slots_) * load_factor), 1, most_slots_ - 1);
}

OffsetMap::Slot OffsetMap::hash(BytesView key) {
  uint8_t digest[EVP_MAX_MD_SIZE];
  CHECK(EVP_Digest(key.data(), key.size(), digest, nullptr, EVP_sha256(), nullptr) == 1);
  Slot slot;
  std::memcpy(&slot.high, digest, 8);
  std::memcpy(&slot.low, digest + 8, 8);
  return slot;
}

size_t OffsetMap::place(const Slot& key) const {
  size_t at = key.high % slots_.size();
  while (slots_[at].offset >= 0 && (slots_[at].high != key.high || slots_[at].low != key.low)) at = at + 1 == slots_.size() ? 0 : at + 1;
  return at;
}

void OffsetMap::grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_ = std::vector<Slot>(std::min(std::max(old.size() * 2, first_slots), most_slots_));
  for (const Slot& slot : old)
    if (slot.offset >= 0) slots_[place(slot)] = slot;
}

bool OffsetMap::put(BytesView key, int64_t offset) {
  CHECK(offset >= 0);
  while (slots_.size() < most_slots_ && static_cast<double>(used_ + 1) > static_cast<double>(slots_.size()) * most_filled) grow();
  Slot slot = hash(key);
  slot.offset = offset;
  Slot& there = slots_[place(slot)];
  if (there.offset < 0) {
    if (used_ >= limit_) return false;
    ++used_;
  }
  there = slot;
  return true;
}

int64_t OffsetMap::find(BytesView key) const { return slots_.empty() ? -1 : slots_[place(hash(key))].offset; }

void OffsetMap::clear() {
  slots_ = {};
  used_ = 0;
  latest_offset_ = -1;
}

}  // namespace castellan::log

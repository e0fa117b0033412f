// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/writer.h"

namespace castellan::wire {

void Writer::put_records(const Records& records) {
  if (records.owner && records.view.size() >= borrow_from) {
    external_ += records.view.size();
    if (!counting_) insertions_.push_back({used_, records.view, records.owner, {}});
  } else {
    put_bytes(records.view);
  }
  for (const auto& slice : records.slices) {
    external_ += slice.length;
    if (!counting_) insertions_.push_back({used_, {}, nullptr, slice});
  }
}

void Writer::insert_varint(size_t position, uint32_t value) {
  const size_t start = position - external_;
  CHECK(insertions_.empty() || insertions_.back().position <= start, "records cannot lie in a tagged field");
  const size_t moved = used_ - start;
  uint8_t scratch[10];
  const size_t width = castellan::put_varint(scratch, value);
  if (grow(width) == nullptr) return;
  uint8_t* at = bytes_.data() + start;
  std::memmove(at + width, at, moved);
  std::memcpy(at, scratch, width);
}

Bytes Writer::take_bytes() {
  if (!insertions_.empty()) return take_chain().to_bytes();
  CHECK(!counting_);
  bytes_.resize(used_);
  used_ = 0;
  return std::exchange(bytes_, {});
}

OutputChain Writer::take_chain() {
  CHECK(!counting_);
  bytes_.resize(used_);
  used_ = external_ = 0;
  return OutputChain(std::exchange(bytes_, {}), std::exchange(insertions_, {}));
}

}  // namespace castellan::wire

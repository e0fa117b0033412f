// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Writes Kafka's primitives to memory that grows, and notes what goes out without being copied: large views that
// something else owns and ranges of files (wire/records.h).
//
//   Writer writer;
//   writer.put<int32_t>(0);                        // room for the frame's size
//   TRY_VOID(encode(response, version, writer));
//   writer.patch_int32(0, writer.size() - 4);
//   OutputChain out = writer.take_chain();         // or take_bytes() where nothing was borrowed
//
// One writer, one thread; nothing is shared but the owners.

#pragma once

#include <cstdint>
#include <utility>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/uuid.h"
#include "base/varint.h"
#include "wire/output_chain.h"

namespace castellan::wire {

class Writer {
 public:
  // From this size on a view that has an owner is borrowed instead of copied.
  static constexpr size_t borrow_from = 4096;

  explicit Writer(size_t capacity = 256) : bytes_(capacity) {}
  // Counts what it would write and keeps nothing.
  static Writer counting() {
    Writer writer(0);
    writer.counting_ = true;
    return writer;
  }

  // Bytes so far, with what is borrowed.
  size_t size() const { return used_ + external_; }

  template <class T>
  void put(T value) {
    if (uint8_t* to = grow(sizeof(T))) store_big_endian(to, value);
  }
  void put_bytes(BytesView view) {
    uint8_t* to = grow(view.size());
    if (to && !view.empty()) std::memcpy(to, view.data(), view.size());
  }
  void put_text(std::string_view text) { put_bytes(as_bytes(text)); }
  void put_uuid(const Uuid& id) { put(id.high), put(id.low); }
  void put_varint(uint32_t value) {
    uint8_t scratch[10];
    put_bytes({scratch, castellan::put_varint(scratch, value)});
  }
  void put_records(const Records& records);

  // Writes `value` as a varint in front of what has been written since `position`; nothing after it may be borrowed.
  void insert_varint(size_t position, uint32_t value);
  void patch_int32(size_t position, size_t value) {
    CHECK(!counting_ && position + 4 <= used_ && value <= INT32_MAX);
    store_big_endian(bytes_.data() + position, static_cast<int32_t>(value));
  }

  // What was written; the writer is empty afterwards. take_bytes is for messages without file ranges: it copies what
  // was borrowed from memory.
  Bytes take_bytes();
  OutputChain take_chain();

 private:
  uint8_t* grow(size_t count) {
    const size_t at = used_;
    used_ += count;
    if (counting_) return nullptr;
    if (used_ > bytes_.size()) bytes_.resize(used_ + used_ / 2 + 64);
    return bytes_.data() + at;
  }

  Bytes bytes_;                              // the first used_ of them are written
  size_t used_ = 0;
  size_t external_ = 0;
  bool counting_ = false;
  std::vector<OutputChain::Insertion> insertions_;
};

}  // namespace castellan::wire

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Reads Kafka's primitives from a view, bounds-checked, without exceptions. The get functions answer false when the
// bytes do not hold the value; who calls says what was missing (position() is where the value began). Owns nothing.

#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/uuid.h"
#include "base/varint.h"

namespace castellan::wire {

// What Apache Kafka takes from a client though no client should send it, LENIENT takes too: falling or repeated tags, a
// tagged field whose size lies, overlong varints, bad UTF-8 (replaced by U+FFFD), any negative length for null.
// STRICT, for files and records on disk, takes only what a writer would write.
enum class DecodeMode : uint8_t { LENIENT, STRICT };

class Reader {
 public:
  explicit Reader(BytesView bytes, DecodeMode mode = DecodeMode::LENIENT) : bytes_(bytes), mode_(mode) {}

  DecodeMode mode() const { return mode_; }
  bool strict() const { return mode_ == DecodeMode::STRICT; }
  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  BytesView rest() const { return bytes_.subspan(position_); }

  template <class T>
  bool get(T& value) {
    if (remaining() < sizeof(T)) return false;
    value = load_big_endian<T>(bytes_.data() + position_);
    position_ += sizeof(T);
    return true;
  }

  bool get_view(size_t size, BytesView& view) {
    if (remaining() < size) return false;
    view = bytes_.subspan(position_, size);
    position_ += size;
    return true;
  }

  bool get_uuid(Uuid& value) {
    BytesView view;
    if (!get_view(16, view)) return false;
    value = Uuid::from_bytes(view.data());
    return true;
  }

  bool get_varint(uint32_t& value) {
    const size_t used = get_varint32(rest(), value);
    if (used == 0 || (strict() && used != varint_size(value))) return false;
    position_ += used;
    return true;
  }

 private:
  BytesView bytes_;
  size_t position_ = 0;
  DecodeMode mode_;
};

}  // namespace castellan::wire

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A growing block of memory that is not cleared: what a socket is read into. A frame that claims 100 MB costs only the
// pages that its bytes have reached, and growing a large block moves pages, not bytes (realloc).
//
// Owner: whoever holds it; movable, not copyable. Any one thread at a time.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <utility>

namespace castellan::net {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t capacity) { reserve(capacity); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  std::span<uint8_t> span() { return {data_, size_}; }
  // The room behind the bytes.
  std::span<uint8_t> room() { return {data_ + size_, capacity_ - size_}; }

  void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    void* moved = std::realloc(data_, capacity);
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<uint8_t*>(moved);
    capacity_ = capacity;
  }
  // `size` bytes of the room have been filled, or the tail is given up.
  void set_size(size_t size) { size_ = size; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace castellan::net

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One encoded message on its way to a socket: bytes of its own and, between them, views that something else owns and
// ranges of files. net/ walks the parts in order with writev and sendfile and drops the chain, and with it the owners,
// when the last byte is out.
//
//   for (const auto& part : chain.parts()) part.file ? sendfile(part.file->fd, ...) : writev(part.memory ...)

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "wire/records.h"

namespace castellan::wire {

class OutputChain {
 public:
  // At `position` of the own bytes comes either memory or a file range.
  struct Insertion {
    size_t position = 0;
    BytesView memory;
    std::shared_ptr<const void> owner;
    FileSlice file;                          // when fd >= 0
  };

  // One piece to write; points into the chain.
  struct Part {
    BytesView memory;
    const FileSlice* file = nullptr;
  };

  OutputChain() = default;
  explicit OutputChain(Bytes bytes, std::vector<Insertion> insertions = {});
  OutputChain(OutputChain&&) = default;
  OutputChain& operator=(OutputChain&&) = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Valid as long as the chain lives and is not moved. No part is empty.
  std::vector<Part> parts() const;
  // All bytes as one piece; for tests and small messages. CHECK: no file ranges.
  Bytes to_bytes() const;

 private:
  Bytes bytes_;
  std::vector<Insertion> insertions_;        // by rising position
  size_t size_ = 0;
};

}  // namespace castellan::wire

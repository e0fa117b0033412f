// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The value of a `records` field: record batches that the wire library does not look into. On the way in it is a view
// into the frame; on the way out it may be memory that something else owns, or ranges of files that go to the socket
// without being read (sendfile).
//
//   partition.records = Records::of(view, batch_owner);               // memory; the owner is held until it is sent
//   partition.records = Records::of_file({segment, fd, 4096, 65536}); // a range of a segment file
//
// Ownership: `view` is only as good as `owner`, or, where that is null, as the frame it was decoded from.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace castellan::wire {

// A range of an open file. The owner keeps the descriptor open and the file in place.
struct FileSlice {
  std::shared_ptr<const void> owner;
  int fd = -1;
  uint64_t position = 0;
  uint32_t length = 0;

  friend bool operator==(const FileSlice&, const FileSlice&) = default;
};

struct Records {
  bool is_null = true;
  BytesView view;                       // first, what is in memory
  std::shared_ptr<const void> owner;
  std::vector<FileSlice> slices;        // then, in order, what is in files

  static Records empty() { return of({}); }
  static Records of(BytesView view, std::shared_ptr<const void> owner = nullptr);
  static Records of_bytes(Bytes bytes);
  static Records of_file(FileSlice slice);

  size_t size() const;
  // Equal bytes in memory, equal ranges of equal files.
  friend bool operator==(const Records& a, const Records& b) {
    return a.is_null == b.is_null && std::equal(a.view.begin(), a.view.end(), b.view.begin(), b.view.end()) && a.slices == b.slices;
  }
};

}  // namespace castellan::wire

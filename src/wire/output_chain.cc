// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/output_chain.h"

#include "base/check.h"

namespace castellan::wire {

OutputChain::OutputChain(Bytes bytes, std::vector<Insertion> insertions)
    : bytes_(std::move(bytes)), insertions_(std::move(insertions)), size_(bytes_.size()) {
  for (const auto& insertion : insertions_) size_ += insertion.file.fd >= 0 ? insertion.file.length : insertion.memory.size();
}

std::vector<OutputChain::Part> OutputChain::parts() const {
  std::vector<Part> parts;
  size_t at = 0;
  const auto own = [&](size_t end) {
    if (end > at) parts.push_back({BytesView(bytes_).subspan(at, end - at)});
    at = end;
  };
  for (const auto& insertion : insertions_) {
    own(insertion.position);
    if (insertion.file.fd < 0) {
      if (!insertion.memory.empty()) parts.push_back({insertion.memory});
    } else if (insertion.file.length > 0) {
      parts.push_back({{}, &insertion.file});
    }
  }
  own(bytes_.size());
  return parts;
}

Bytes OutputChain::to_bytes() const {
  Bytes all;
  all.reserve(size_);
  for (const auto& part : parts()) {
    CHECK(part.file == nullptr, "a message with file ranges has no bytes of its own");
    all.insert(all.end(), part.memory.begin(), part.memory.end());
  }
  return all;
}

}  // namespace castellan::wire

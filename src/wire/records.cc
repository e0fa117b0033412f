// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/records.h"

namespace castellan::wire {

Records Records::of(BytesView view, std::shared_ptr<const void> owner) {
  Records records;
  records.is_null = false;
  records.view = view;
  records.owner = std::move(owner);
  return records;
}

Records Records::of_bytes(Bytes bytes) {
  auto owner = std::make_shared<const Bytes>(std::move(bytes));
  const BytesView view = *owner;
  return of(view, std::move(owner));
}

Records Records::of_file(FileSlice slice) {
  Records records = empty();
  records.slices.push_back(std::move(slice));
  return records;
}

size_t Records::size() const {
  size_t size = view.size();
  for (const auto& slice : slices) size += slice.length;
  return size;
}

}  // namespace castellan::wire

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Any bytes through each decompressor, in odd pieces; what compresses comes back equal.

#include "base/check.h"
#include "record/compression.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  using namespace castellan::record;
  if (size < 2) return 0;
  const auto codec = static_cast<Compression>(1 + data[0] % 4);
  const BytesView input(data + 2, size - 2);
  const auto stream = make_decompressor(codec, input);
  Bytes piece(1 + data[1]);
  for (size_t total = 0; total < 1 << 20;) {
    const auto got = stream->read(piece);
    if (!got || *got == 0) break;
    total += *got;
  }
  const auto back = decompress(codec, compress(codec, input), input.size());
  CHECK(back.has_value() && std::ranges::equal(*back, input));
  return 0;
}

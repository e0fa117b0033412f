// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The four codecs as streams, in the framings that Kafka's clients use: gzip members, snappy in xerial blocks (a plain snappy
// buffer is read too), LZ4 frames, zstd frames (KIP-110).
//
// Compressed bytes come from clients, so a decompressor never trusts a length in them: it hands out pieces of bounded size
// and allocates one window per codec, whatever the input promises. Who reads decides how much it wants.

#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "record/batch.h"

namespace castellan::record {

class Decompressor {
 public:
  virtual ~Decompressor() = default;
  // Fills `out` from the front; fewer bytes than asked for only at the end of the stream, 0 is the end.
  // Bytes that are no such stream are CORRUPT_MESSAGE.
  virtual Result<size_t> read(std::span<uint8_t> out) = 0;
};

// `input` must outlive the decompressor. `codec` is not none.
std::unique_ptr<Decompressor> make_decompressor(Compression codec, BytesView input);

// The library's usual level, as Kafka's defaults are: gzip -1, lz4 9, zstd 3.
inline constexpr int default_level = INT32_MIN;

class Compressor {
 public:
  virtual ~Compressor() = default;
  // Appends what comes out to `out`, perhaps later; finish() appends the rest.
  virtual void write(BytesView bytes, Bytes& out) = 0;
  virtual void finish(Bytes& out) = 0;
};

// `codec` is not none.
std::unique_ptr<Compressor> make_compressor(Compression codec, int level = default_level);

// In one go, for small things (telemetry, tests). `limit` bounds what may come out; more is MESSAGE_TOO_LARGE.
Bytes compress(Compression codec, BytesView bytes, int level = default_level);
Result<Bytes> decompress(Compression codec, BytesView bytes, size_t limit);

}  // namespace castellan::record

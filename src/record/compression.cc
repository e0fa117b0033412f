// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "record/compression.h"

#include <lz4frame.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include "base/check.h"

namespace castellan::record {
namespace {

std::unexpected<Error> broken(std::string_view codec, std::string_view why) {
  return fail(ErrorCode::CORRUPT_MESSAGE, "the records are no {} stream: {}", codec, why);
}

// --- gzip (RFC 1952): one or more members back to back.

class GzipDecompressor final : public Decompressor {
 public:
  explicit GzipDecompressor(BytesView input) {
    stream_.next_in = const_cast<Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(input.size());
    CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK);
  }
  ~GzipDecompressor() override { inflateEnd(&stream_); }

  Result<size_t> read(std::span<uint8_t> out) override {
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(out.size());
    while (!ended_ && stream_.avail_out > 0) {
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        // Another member may follow; anything else behind the last one is ignored, as Java's reader ignores it.
        if (stream_.avail_in < 18 || stream_.next_in[0] != 0x1f || stream_.next_in[1] != 0x8b) {
          ended_ = true;
        } else {
          inflateReset(&stream_);
        }
      } else if (status != Z_OK) {
        return broken("gzip", stream_.msg ? stream_.msg : "it ends early");
      }
    }
    return out.size() - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool ended_ = false;
};

class GzipCompressor final : public Compressor {
 public:
  explicit GzipCompressor(int level) {
    CHECK(deflateInit2(&stream_, level == default_level ? Z_DEFAULT_COMPRESSION : level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "gzip level {}", level);
  }
  ~GzipCompressor() override { deflateEnd(&stream_); }

  void write(BytesView bytes, Bytes& out) override { run(bytes, out, Z_NO_FLUSH); }
  void finish(Bytes& out) override { run({}, out, Z_FINISH); }

 private:
  void run(BytesView bytes, Bytes& out, int flush) {
    stream_.next_in = const_cast<Bytef*>(bytes.data());
    stream_.avail_in = static_cast<uInt>(bytes.size());
    uint8_t buffer[8192];
    do {
      stream_.next_out = buffer;
      stream_.avail_out = sizeof buffer;
      const int status = deflate(&stream_, flush);
      CHECK(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, "deflate says {}", status);
      out.insert(out.end(), buffer, stream_.next_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
};

// --- snappy in xerial's framing: a 16-byte header, then blocks of {int32 length, snappy buffer}. A stream without the
// header is one plain snappy buffer.

constexpr uint8_t xerial_header[16] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1};
constexpr size_t xerial_magic_size = 8;
constexpr size_t snappy_block_size = 32 << 10;
// The best a snappy element can do is 64 bytes out of 3: a larger claim is a lie and is not allocated for.
constexpr size_t snappy_best_ratio = 22;

class SnappyDecompressor final : public Decompressor {
 public:
  explicit SnappyDecompressor(BytesView input) : input_(input) {
    framed_ = starts_with_magic();
    if (framed_) input_ = input_.subspan(std::min(input_.size(), sizeof xerial_header));
  }

  Result<size_t> read(std::span<uint8_t> out) override {
    size_t filled = 0;
    while (filled < out.size()) {
      if (at_ == block_.size()) {
        if (input_.empty()) break;
        TRY_VOID(next_block());
        continue;
      }
      const size_t count = std::min(out.size() - filled, block_.size() - at_);
      std::memcpy(out.data() + filled, block_.data() + at_, count);
      at_ += count;
      filled += count;
    }
    return filled;
  }

 private:
  bool starts_with_magic() const {
    return input_.size() >= xerial_magic_size && std::memcmp(input_.data(), xerial_header, xerial_magic_size) == 0;
  }

  Result<void> next_block() {
    BytesView compressed = input_;
    if (framed_) {
      if (starts_with_magic()) {  // streams may be joined end to end
        input_ = input_.subspan(std::min(input_.size(), sizeof xerial_header));
        return {};
      }
      if (input_.size() < 4) return broken("snappy", "it ends inside a block's length");
      const uint32_t length = load_big_endian<uint32_t>(input_.data());
      if (length > input_.size() - 4) return broken("snappy", fmt::format("a block of {} bytes ends after {}", length, input_.size() - 4));
      compressed = input_.subspan(4, length);
      input_ = input_.subspan(4 + length);
    } else {
      input_ = {};
    }
    const char* data = reinterpret_cast<const char*>(compressed.data());
    size_t size = 0;
    if (!snappy::GetUncompressedLength(data, compressed.size(), &size) || size > compressed.size() * snappy_best_ratio)
      return broken("snappy", "a block has an impossible length");
    block_.resize(size);
    at_ = 0;
    if (!snappy::RawUncompress(data, compressed.size(), reinterpret_cast<char*>(block_.data()))) return broken("snappy", "a block cannot be read");
    return {};
  }

  BytesView input_;
  bool framed_;
  Bytes block_;
  size_t at_ = 0;
};

class SnappyCompressor final : public Compressor {
 public:
  void write(BytesView bytes, Bytes& out) override {
    while (!bytes.empty()) {
      const size_t count = std::min(bytes.size(), snappy_block_size - pending_.size());
      pending_.insert(pending_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count));
      bytes = bytes.subspan(count);
      if (pending_.size() == snappy_block_size) flush(out);
    }
  }
  void finish(Bytes& out) override {
    if (!started_ || !pending_.empty()) flush(out);
  }

 private:
  void flush(Bytes& out) {
    if (!started_) out.insert(out.end(), std::begin(xerial_header), std::end(xerial_header));
    started_ = true;
    if (pending_.empty()) return;
    const size_t start = out.size();
    out.resize(start + 4 + snappy::MaxCompressedLength(pending_.size()));
    size_t size = 0;
    snappy::RawCompress(reinterpret_cast<const char*>(pending_.data()), pending_.size(), reinterpret_cast<char*>(out.data()) + start + 4, &size);
    store_big_endian<uint32_t>(out.data() + start, static_cast<uint32_t>(size));
    out.resize(start + 4 + size);
    pending_.clear();
  }

  Bytes pending_;
  bool started_ = false;
};

// --- LZ4 frame. Kafka's Java reader takes independent blocks only and stops behind the first frame.

class Lz4Decompressor final : public Decompressor {
 public:
  explicit Lz4Decompressor(BytesView input) : input_(input) { CHECK(!LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION))); }
  ~Lz4Decompressor() override { LZ4F_freeDecompressionContext(context_); }

  Result<size_t> read(std::span<uint8_t> out) override {
    size_t filled = 0;
    while (!ended_ && filled < out.size()) {
      size_t produced = out.size() - filled;
      size_t consumed = input_.size();
      const size_t status = LZ4F_decompress(context_, out.data() + filled, &produced, input_.data(), &consumed, nullptr);
      if (LZ4F_isError(status)) return broken("lz4", LZ4F_getErrorName(status));
      filled += produced;
      input_ = input_.subspan(consumed);
      if (status == 0) ended_ = true;
      if (!ended_ && produced == 0 && consumed == 0) return broken("lz4", "it ends early");
    }
    return filled;
  }

 private:
  BytesView input_;
  LZ4F_dctx* context_ = nullptr;
  bool ended_ = false;
};

class Lz4Compressor final : public Compressor {
 public:
  explicit Lz4Compressor(int level) {
    CHECK(!LZ4F_isError(LZ4F_createCompressionContext(&context_, LZ4F_VERSION)));
    preferences_.frameInfo.blockSizeID = LZ4F_max64KB;
    preferences_.frameInfo.blockMode = LZ4F_blockIndependent;
    // Kafka's default level, 9, means its fast compressor; every other level the slow one.
    preferences_.compressionLevel = level == default_level || level == 9 ? 0 : level;
  }
  ~Lz4Compressor() override { LZ4F_freeCompressionContext(context_); }

  void write(BytesView bytes, Bytes& out) override {
    begin(out);
    while (!bytes.empty()) {  // in pieces, so that the room asked for stays small
      const BytesView piece = bytes.first(std::min<size_t>(bytes.size(), 64 << 10));
      bytes = bytes.subspan(piece.size());
      append(out, LZ4F_compressBound(piece.size(), &preferences_), [&](uint8_t* to, size_t room) {
        return LZ4F_compressUpdate(context_, to, room, piece.data(), piece.size(), nullptr);
      });
    }
  }
  void finish(Bytes& out) override {
    begin(out);
    append(out, LZ4F_compressBound(0, &preferences_), [&](uint8_t* to, size_t room) { return LZ4F_compressEnd(context_, to, room, nullptr); });
  }

 private:
  void begin(Bytes& out) {
    if (std::exchange(started_, true)) return;
    append(out, LZ4F_HEADER_SIZE_MAX, [&](uint8_t* to, size_t room) { return LZ4F_compressBegin(context_, to, room, &preferences_); });
  }

  template <class Step>
  void append(Bytes& out, size_t room, Step step) {
    const size_t start = out.size();
    out.resize(start + room);
    const size_t written = step(out.data() + start, room);
    CHECK(!LZ4F_isError(written), "{}", LZ4F_getErrorName(written));
    out.resize(start + written);
  }

  LZ4F_cctx* context_ = nullptr;
  LZ4F_preferences_t preferences_{};
  bool started_ = false;
};

// --- zstd. Contexts are large, so each thread keeps the last one it used.

struct FreeZstd {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
thread_local std::unique_ptr<ZSTD_DCtx, FreeZstd> idle_zstd_decompressor;
thread_local std::unique_ptr<ZSTD_CCtx, FreeZstd> idle_zstd_compressor;

class ZstdDecompressor final : public Decompressor {
 public:
  explicit ZstdDecompressor(BytesView input) : input_{input.data(), input.size(), 0}, context_(std::move(idle_zstd_decompressor)) {
    if (!context_) context_.reset(ZSTD_createDCtx());
    CHECK(context_);
    ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
  }
  ~ZstdDecompressor() override { idle_zstd_decompressor = std::move(context_); }

  Result<size_t> read(std::span<uint8_t> out) override {
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos < output.size) {
      if (frame_ended_ && input_.pos == input_.size) break;
      const size_t before = input_.pos + output.pos;
      const size_t status = ZSTD_decompressStream(context_.get(), &output, &input_);
      if (ZSTD_isError(status)) return broken("zstd", ZSTD_getErrorName(status));
      frame_ended_ = status == 0;
      if (!frame_ended_ && input_.pos + output.pos == before) return broken("zstd", "it ends early");
    }
    return output.pos;
  }

 private:
  ZSTD_inBuffer input_;
  std::unique_ptr<ZSTD_DCtx, FreeZstd> context_;
  bool frame_ended_ = false;
};

class ZstdCompressor final : public Compressor {
 public:
  explicit ZstdCompressor(int level) : context_(std::move(idle_zstd_compressor)) {
    if (!context_) context_.reset(ZSTD_createCCtx());
    CHECK(context_);
    ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level == default_level ? 3 : level);
  }
  ~ZstdCompressor() override { idle_zstd_compressor = std::move(context_); }

  void write(BytesView bytes, Bytes& out) override { run(bytes, out, ZSTD_e_continue); }
  void finish(Bytes& out) override { run({}, out, ZSTD_e_end); }

 private:
  void run(BytesView bytes, Bytes& out, ZSTD_EndDirective mode) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    uint8_t buffer[8192];
    for (;;) {
      ZSTD_outBuffer output{buffer, sizeof buffer, 0};
      const size_t left = ZSTD_compressStream2(context_.get(), &output, &input, mode);
      CHECK(!ZSTD_isError(left), "{}", ZSTD_getErrorName(left));
      out.insert(out.end(), buffer, buffer + output.pos);
      if (mode == ZSTD_e_end ? left == 0 : input.pos == input.size) return;
    }
  }

  std::unique_ptr<ZSTD_CCtx, FreeZstd> context_;
};

}  // namespace

std::unique_ptr<Decompressor> make_decompressor(Compression codec, BytesView input) {
  switch (codec) {
    case Compression::gzip: return std::make_unique<GzipDecompressor>(input);
    case Compression::snappy: return std::make_unique<SnappyDecompressor>(input);
    case Compression::lz4: return std::make_unique<Lz4Decompressor>(input);
    case Compression::zstd: return std::make_unique<ZstdDecompressor>(input);
    case Compression::none: break;
  }
  CHECK(false, "codec {} does not compress", static_cast<int>(codec));
  __builtin_unreachable();
}

std::unique_ptr<Compressor> make_compressor(Compression codec, int level) {
  switch (codec) {
    case Compression::gzip: return std::make_unique<GzipCompressor>(level);
    case Compression::snappy: return std::make_unique<SnappyCompressor>();
    case Compression::lz4: return std::make_unique<Lz4Compressor>(level);
    case Compression::zstd: return std::make_unique<ZstdCompressor>(level);
    case Compression::none: break;
  }
  CHECK(false, "codec {} does not compress", static_cast<int>(codec));
  __builtin_unreachable();
}

Bytes compress(Compression codec, BytesView bytes, int level) {
  if (codec == Compression::none) return to_bytes(bytes);
  Bytes out;
  const auto compressor = make_compressor(codec, level);
  compressor->write(bytes, out);
  compressor->finish(out);
  return out;
}

Result<Bytes> decompress(Compression codec, BytesView bytes, size_t limit) {
  if (codec == Compression::none) return to_bytes(bytes);
  const auto decompressor = make_decompressor(codec, bytes);
  Bytes out;
  for (;;) {
    const size_t had = out.size();
    out.resize(had + std::min<size_t>(limit + 1 - had, 16 << 10));
    TRY(const size_t count, decompressor->read(std::span(out).subspan(had)));
    out.resize(had + count);
    if (count == 0) return out;
    if (out.size() > limit) return fail(ErrorCode::MESSAGE_TOO_LARGE, "decompressed, the bytes are more than {}", limit);
  }
}

}  // namespace castellan::record

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/cold_reads.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "io/file.h"

namespace castellan::broker {

namespace {

constexpr uint64_t page_bytes = 4096;
// The kernel reads ahead in steps of this size, so one byte of each says enough.
constexpr uint64_t probe_step = 64 << 10;
constexpr uint64_t piece_bytes = 256 << 10;

// As in linux/mman.h since 6.5; Debian 12's headers do not have them.
#ifdef SYS_cachestat
constexpr long cachestat_number = SYS_cachestat;
#else
constexpr long cachestat_number = 451;
#endif
struct CachestatRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};
struct Cachestat {
  uint64_t cached = 0;
  uint64_t dirty = 0;
  uint64_t in_writeback = 0;
  uint64_t evicted = 0;
  uint64_t recently_evicted = 0;
};

// Nothing when the kernel does not know.
std::optional<bool> ask_cachestat(int fd, uint64_t position, uint64_t length) {
  static std::atomic<bool> there{true};
  if (!there.load(std::memory_order_relaxed)) return std::nullopt;
  CachestatRange range{position, length};
  Cachestat found;
  if (::syscall(cachestat_number, fd, &range, &found, 0) != 0) {
    there.store(false, std::memory_order_relaxed);
    return std::nullopt;
  }
  const uint64_t pages = (position + length - 1) / page_bytes - position / page_bytes + 1;
  return found.cached >= pages;
}

bool byte_is_cached(int fd, uint64_t position) {
  uint8_t byte = 0;
  const iovec to{&byte, 1};
  return ::preadv2(fd, &to, 1, static_cast<off_t>(position), RWF_NOWAIT) >= 0 || errno != EAGAIN;
}

}  // namespace

bool is_cached(const io::File& file, uint64_t position, uint64_t length) {
  const int fd = file.native_handle();
  if (fd < 0 || length == 0) return true;
  if (const auto known = ask_cachestat(fd, position, length)) return *known;
  for (uint64_t at = position; at < position + length; at += probe_step) {
    if (!byte_is_cached(fd, at)) return false;
  }
  return byte_is_cached(fd, position + length - 1);
}

Result<std::optional<Bytes>> read_if_cached(const io::File& file, uint64_t position, size_t length) {
  Bytes bytes(length);
  const int fd = file.native_handle();
  if (fd >= 0 && length > 0) {
    const iovec to{bytes.data(), bytes.size()};
    const ssize_t got = ::preadv2(fd, &to, 1, static_cast<off_t>(position), RWF_NOWAIT);
    if (got == static_cast<ssize_t>(length)) return bytes;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    // A short read ends at the first cold page, or at the end of the file.
    if (got >= 0 && !byte_is_cached(fd, position + static_cast<uint64_t>(got))) return std::nullopt;
  }
  TRY(const size_t got, file.read_at(position, bytes));
  bytes.resize(got);
  return bytes;
}

void warm(const io::File& file, uint64_t position, uint64_t length) {
  Bytes scratch(std::min(length, piece_bytes));
  while (length > 0) {
    const size_t piece = std::min<uint64_t>(length, scratch.size());
    const auto got = file.read_at(position, std::span(scratch).first(piece));
    if (!got || *got == 0) return;
    position += *got;
    length -= *got;
  }
}

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/copy_file.h"

namespace castellan::quorum {
namespace {

constexpr size_t chunk = 4 << 20;

}  // namespace

Result<void> copy_file(io::FileSystem& files, const std::string& from, const std::string& to) {
  TRY(const auto source, files.open(from, io::OpenMode::read_only));
  TRY(const auto target, files.open(to, io::OpenMode::create));
  TRY_VOID(target->truncate(0));
  TRY(const uint64_t size, source->size());
  Bytes buffer(std::min<uint64_t>(size, chunk));
  for (uint64_t position = 0; position < size;) {
    TRY(const size_t got, source->read_at(position, buffer));
    if (got == 0) break;
    TRY_VOID(target->write_at(position, BytesView(buffer).first(got)));
    position += got;
  }
  return target->sync();
}

}  // namespace castellan::quorum

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A partition's folder with any bytes in its files: it opens, or says why not; then every offset is read or refused, and what is read has
// the right checksum. The input is cut into the files' contents.

#include "base/check.h"
#include "io/memory/memory_file_system.h"
#include "log/log.h"
#include "record/builder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  using namespace castellan::log;
  if (size < 4) return 0;
  io::MemoryFileSystem files;
  (void)files.make_directories("/d/t-0");
  const uint8_t choice = data[0];
  const BytesView input(data + 3, size - 3);

  // A good batch first, if wanted, so that there is something to lose; checksums of what follows are put right where there is a length.
  Bytes log_bytes;
  if (choice & 1) {
    record::BatchBuilder builder({.leader_epoch = 1, .producer_id = 5, .producer_epoch = 0, .base_sequence = 0});
    builder.append(1000, as_bytes("k"), as_bytes("v"));
    log_bytes = builder.finish();
  }
  const size_t split = std::min<size_t>(input.size(), data[1] * size_t{16});
  log_bytes.insert(log_bytes.end(), input.begin(), input.begin() + static_cast<ptrdiff_t>(split));
  if (choice & 2) {
    for (size_t at = 0; at + record::batch_header_size <= log_bytes.size();) {
      const auto length = load_big_endian<uint32_t>(log_bytes.data() + at + record::header::length);
      const size_t batch_size = record::batch_prefix_size + size_t{length};
      if (batch_size < record::batch_header_size || batch_size > log_bytes.size() - at) break;
      log_bytes[at + record::header::magic] = record::current_magic;
      record::set_crc(std::span(log_bytes).subspan(at, batch_size));
      at += batch_size;
    }
  }
  const BytesView rest = input.subspan(split);
  const char* name = choice & 4 ? ".index" : choice & 8 ? ".timeindex" : choice & 16 ? ".txnindex" : ".snapshot";
  (void)files.replace_file("/d/t-0/00000000000000000000.log", log_bytes);
  (void)files.replace_file(std::string("/d/t-0/00000000000000000000") + name, rest);
  (void)files.replace_file("/d/t-0/leader-epoch-checkpoint", rest);

  const OpenOptions options{.clean_shutdown = (choice & 32) != 0, .recovery_point = data[2] % 8, .now = WallTime{5000}};
  auto log = Log::open(files, "/d/t-0", LogConfig{}, options);
  if (!log) return 0;
  Log& opened = **log;
  const int64_t end = opened.log_end_offset();
  CHECK(opened.log_start_offset() <= end);
  int reads = 0;
  for (int64_t offset = opened.log_start_offset(); offset < end && reads < 200; ++reads) {
    const auto part = opened.read(offset, 1000, end, true);
    if (!part || part->length == 0) {
      ++offset;
      continue;
    }
    const auto bytes = part->load();
    CHECK(bytes.has_value());
    record::BatchScanner scanner(*bytes);
    const int64_t asked = offset;
    for (auto batch = scanner.next(); batch && *batch; batch = scanner.next()) {
      CHECK((*batch)->crc_valid());
      offset = (*batch)->next_offset();
    }
    CHECK(offset > asked, "no progress at {}", asked);
  }
  (void)opened.offset_for_timestamp(500);
  (void)opened.offset_of_max_timestamp();
  (void)opened.verify_some(1 << 20);
  record::BatchBuilder builder({});
  builder.append(2000, as_bytes("k"), as_bytes("v"));
  Bytes more = builder.finish();
  const auto appended = opened.append_as_leader(more, 9, WallTime{5000});
  if (appended) CHECK(appended->first_offset == end);
  (void)opened.truncate_to(end / 2);
  (void)opened.close();
  return 0;
}

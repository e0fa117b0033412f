// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the tests of this folder share: a log in memory, batches to put into it, and all that is in it.

#pragma once

#include <gtest/gtest.h>

#include "io/memory/memory_file_system.h"
#include "log/log.h"
#include "record/builder.h"
#include "record/reader.h"

namespace castellan::log {

struct LogBench {
  io::MemoryFileSystem files;
  LogConfig config;
  OpenOptions options{.now = WallTime{1000}};
  std::string directory = "/data/t-0";

  std::string path(std::string_view name) const { return io::join(directory, name); }

  std::unique_ptr<Log> open(std::string_view name = "t-0") {
    auto log = Log::open(files, io::join("/data", name), config, options);
    EXPECT_TRUE(log.has_value()) << log.error().message;
    if (!log) return nullptr;
    // As a directory does for its partitions.
    (void)files.sync_directory("/");
    (void)files.sync_directory("/data");
    (void)(*log)->flush();
    return std::move(*log);
  }

  Bytes batch(int records, record::BatchOptions options = {}, int64_t timestamp = 1000) const {
    record::BatchBuilder builder(options);
    for (int i = 0; i < records; ++i) builder.append(timestamp + i, as_bytes("key"), as_bytes(fmt::format("value {}", i)));
    return builder.finish();
  }

  Result<AppendResult> try_append(Log& log, int records, record::BatchOptions options = {}, int64_t timestamp = 1000) const {
    Bytes bytes = batch(records, options, timestamp);
    return log.append_as_leader(bytes, 0, WallTime{timestamp});
  }

  AppendResult append(Log& log, int records, record::BatchOptions options = {}, int64_t timestamp = 1000) const {
    const auto result = try_append(log, records, options, timestamp);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result.value_or(AppendResult{});
  }

  // The base offsets of the whole batches in what was read.
  std::vector<int64_t> offsets(const FetchData& data) const {
    std::vector<int64_t> result;
    const Bytes bytes = data.load().value_or(Bytes{});
    record::BatchScanner scanner(bytes);
    for (auto batch = scanner.next(); batch && *batch; batch = scanner.next()) result.push_back((*batch)->base_offset());
    return result;
  }

  // Every batch, read as a consumer would.
  std::vector<Bytes> read_all(Log& log) const {
    std::vector<Bytes> result;
    int64_t offset = log.log_start_offset();
    while (offset < log.log_end_offset()) {
      const auto data = log.read(offset, 1000, log.log_end_offset(), true);
      EXPECT_TRUE(data.has_value()) << data.error().message;
      if (!data || data->length == 0) break;
      const Bytes bytes = data->load().value_or(Bytes{});
      record::BatchScanner scanner(bytes);
      for (auto batch = scanner.next(); batch && *batch; batch = scanner.next()) {
        EXPECT_TRUE((*batch)->crc_valid());
        result.push_back(to_bytes((*batch)->bytes()));
        offset = (*batch)->next_offset();
      }
    }
    return result;
  }

  // Offset and timestamp of every record.
  std::vector<std::pair<int64_t, int64_t>> records(Log& log) const {
    std::vector<std::pair<int64_t, int64_t>> result;
    for (const Bytes& bytes : read_all(log)) {
      record::RecordReader reader{record::BatchView(bytes)};
      record::Record record;
      for (auto more = reader.next(record); more && *more; more = reader.next(record)) result.emplace_back(record.offset, record.timestamp);
    }
    return result;
  }
};

}  // namespace castellan::log

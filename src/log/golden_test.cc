// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Files that Apache Kafka wrote, or that were made byte by byte, with what its dump tool says about them (test/golden): we read the same out
// of them, and make the same files of the same batches.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/posix/posix_file_system.h"
#include "log/checkpoints.h"
#include "log/log_testing.h"
#include "log/meta_properties.h"
#include "log/metadata_snapshot.h"
#include "log/partition_metadata.h"
#include "log/quorum_state_file.h"
#include "log/segment.h"
#include "wire/messages/quorum_state_data.h"

namespace castellan::log {
namespace {

const std::string golden = std::string(CASTELLAN_SOURCE_DIR) + "/test/golden/";

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Every file below real/ and made/ with this ending that has a text beside it.
std::vector<std::string> files_with_text(std::string_view ending) {
  std::vector<std::string> result;
  for (const char* part : {"real", "made"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(golden + part)) {
      const std::string path = entry.path().string();
      if (path.ends_with(ending) && std::filesystem::exists(path + ".txt")) result.push_back(path);
    }
  }
  std::ranges::sort(result);
  return result;
}

Bytes content_of(const std::string& path) { return io::make_posix_file_system()->read_file(path).value_or(Bytes{}); }

// A batch as the dump tool prints it.
std::string describe(const record::BatchView& batch, uint64_t position) {
  const auto horizon = batch.delete_horizon();
  return fmt::format(
      "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} partitionLeaderEpoch: {} isTransactional: {} "
      "isControl: {} deleteHorizonMs: {} position: {} {}: {} size: {} magic: {} compresscodec: {} crc: {} isvalid: {}",
      batch.base_offset(), batch.last_offset(), batch.records_count(), batch.base_sequence(), batch.last_sequence(), batch.producer_id(), batch.producer_epoch(),
      batch.leader_epoch(), batch.is_transactional(), batch.is_control(), horizon ? fmt::format("OptionalLong[{}]", *horizon) : "OptionalLong.empty", position,
      batch.timestamp_type() == record::TimestampType::create_time ? "CreateTime" : "LogAppendTime", batch.max_timestamp(), batch.size(), batch.magic(),
      record::compression_name(batch.compression()), batch.crc(), batch.crc_valid());
}

std::string describe(const record::Record& record, const record::BatchView& batch) {
  std::string keys;
  for (const record::Header& header : record.headers()) keys += (keys.empty() ? "" : ",") + std::string(header.key);
  const int32_t sequence = batch.base_sequence() < 0 ? -1 : record::sequence_plus(batch.base_sequence(), record.offset_delta);
  return fmt::format("| offset: {} {}: {} keySize: {} valueSize: {} sequence: {} headerKeys: [{}]", record.offset,
                     batch.timestamp_type() == record::TimestampType::create_time ? "CreateTime" : "LogAppendTime", record.timestamp, record.key_size, record.value_size,
                     sequence, keys);
}

// What a scan of the file says, in the dump tool's words.
std::vector<std::string> dump(const std::string& path, std::vector<BadBytes>& bad) {
  const auto files = io::make_posix_file_system();
  const auto file = *files->open(path, io::OpenMode::read_only);
  const int64_t base = parse_segment_file_name(std::filesystem::path(path).filename().string()).value_or(0);
  SegmentScanner scanner(*file, 0, *file->size(), base, base, INT64_MAX, ScanDepth::checksums);
  std::vector<std::string> lines;
  for (auto batch = scanner.next(); batch && *batch; batch = scanner.next()) {
    lines.push_back(describe(**batch, scanner.position()));
    record::RecordReader reader(**batch);
    record::Record record;
    auto more = reader.next(record);
    for (; more && *more; more = reader.next(record)) lines.push_back(describe(record, **batch));
    EXPECT_TRUE(more.has_value()) << path;
    EXPECT_TRUE(reader.finish().has_value());
  }
  bad = scanner.bad();
  return lines;
}

TEST(Golden, every_batch_and_record_reads_as_the_dump_tool_says) {
  int checked = 0;
  for (const char* ending : {".log", ".checkpoint"}) {
    for (const std::string& path : files_with_text(ending)) {
      SCOPED_TRACE(path);
      std::vector<BadBytes> bad;
      const auto ours = dump(path, bad);
      size_t at = 0;
      bool skip_records = false;
      for (const std::string& line : lines_of(path + ".txt")) {
        if (line.starts_with("baseOffset:")) {
          skip_records = line.contains("isvalid: false") || !line.contains("magic: 2 ");  // we do not show what is damaged
          if (skip_records) continue;
          ASSERT_LT(at, ours.size());
          EXPECT_EQ(ours[at++], line);
          ++checked;
        } else if (line.starts_with("| ") && !skip_records) {
          if (at >= ours.size() || !ours[at].starts_with("| ")) continue;  // a payload with line breaks
          EXPECT_TRUE(line.starts_with(ours[at])) << line << "\nours: " << ours[at];
          ++at;
        }
      }
      // Where the tool gives up we go on.
      EXPECT_GE(ours.size(), at);
      if (path.contains("/real/")) {
        EXPECT_EQ(at, ours.size());
        EXPECT_TRUE(bad.empty());
      }
    }
  }
  EXPECT_GT(checked, 400);
}

TEST(Golden, every_index_reads_as_the_dump_tool_says) {
  const auto files = io::make_posix_file_system();
  int checked = 0;
  for (const char* ending : {".index", ".timeindex", ".txnindex", ".snapshot"}) {
    for (const std::string& path : files_with_text(ending)) {
      SCOPED_TRACE(path);
      const int64_t base = parse_segment_file_name(std::filesystem::path(path).filename().string()).value_or(0);
      std::vector<std::string> ours;
      if (path.ends_with(".txnindex")) {
        const auto entries = TransactionIndex::read(*files, path);
        for (const auto& entry : *entries)
          ours.push_back(fmt::format("version: 0 producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}", entry.producer_id, entry.first_offset,
                                     entry.last_offset, entry.last_stable_offset));
      } else if (path.ends_with(".snapshot")) {
        ProducerStates states;
        ASSERT_TRUE(states.decode_snapshot(content_of(path), 0, INT64_MAX).has_value());
        EXPECT_EQ(states.encode_snapshot().size(), content_of(path).size());
        for (const auto& [id, state] : states.all()) {
          std::string line = fmt::format("producerId: {} producerEpoch: {} coordinatorEpoch: {} currentTxnFirstOffset: {} lastTimestamp: {}", id, state.epoch,
                                         state.coordinator_epoch,
                                         state.current_transaction_first_offset < 0 ? "OptionalLong.empty" : fmt::format("OptionalLong[{}]", state.current_transaction_first_offset),
                                         state.last_timestamp);
          if (!state.batches.empty()) {
            const BatchMetadata& last = state.batches.back();
            line += fmt::format(" firstSequence: {} lastSequence: {} lastOffset: {} offsetDelta: {} timestamp: {}", last.first_sequence(), last.last_sequence,
                                last.last_offset, last.offset_delta, last.timestamp);
          }
          ours.push_back(line);
        }
      } else {
        IndexFile index(*const_cast<io::FileSystem*>(files.get()), path, path.ends_with(".timeindex") ? 12 : 8);
        Bytes entry(index.entry_size());
        for (size_t i = 0; i < *index.count(); ++i) {
          ASSERT_TRUE(index.get(i, entry).has_value());
          ours.push_back(entry.size() == 8 ? fmt::format("offset: {} position: {}", base + load_big_endian<int32_t>(entry.data()), load_big_endian<int32_t>(entry.data() + 4))
                                           : fmt::format("timestamp: {} offset: {}", load_big_endian<int64_t>(entry.data()), base + load_big_endian<int32_t>(entry.data() + 8)));
        }
      }
      std::vector<std::string> theirs;
      for (const std::string& line : lines_of(path + ".txt"))
        if (line.contains(": ") && (line.starts_with("offset:") || line.starts_with("timestamp:") || line.starts_with("version:") || line.starts_with("producerId:")))
          theirs.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
      std::ranges::sort(ours);
      std::ranges::sort(theirs);
      EXPECT_EQ(ours, theirs);
      checked += static_cast<int>(ours.size());
    }
  }
  EXPECT_GT(checked, 30);
}

// A partition's folder as Apache Kafka left it, in memory.
struct Copy : LogBench {
  explicit Copy(const std::string& folder) {
    (void)files.make_directories(directory);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".txt") continue;
      EXPECT_TRUE(files.replace_file(path(entry.path().filename().string()), content_of(entry.path().string())).has_value());
    }
    config.retention_ms = -1;
    config.producer_id_expiration_ms = INT64_MAX;
    config.segment_bytes = 1 << 30;
  }
};

std::vector<std::string> partition_folders() {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(golden + "real"))
    if (entry.path().filename() == "partition.metadata") result.push_back(entry.path().parent_path().string());
  std::ranges::sort(result);
  return result;
}

TEST(Golden, a_folder_of_apache_kafka_opens_clean_and_unclean_with_the_same_content) {
  const auto files = io::make_posix_file_system();
  const auto recovery_points = *read_checkpoint(*files, golden + "real/broker/recovery-point-offset-checkpoint");
  const auto log_starts = *read_checkpoint(*files, golden + "real/broker/log-start-offset-checkpoint");
  EXPECT_EQ(log_starts, (OffsetsByPartition{{{"t-lz4", 0}, 13}}));
  ASSERT_GT(partition_folders().size(), 12u);
  for (const std::string& folder : partition_folders()) {
    SCOPED_TRACE(folder);
    Copy clean(folder), unclean(folder);
    const auto name = parse_folder_name(std::filesystem::path(folder).filename().string());
    const auto recovery_point = recovery_points.find(name->partition);
    clean.options.clean_shutdown = true;
    clean.options.recovery_point = recovery_point == recovery_points.end() ? 0 : recovery_point->second;
    auto log = clean.open();
    auto scanned = unclean.open();
    ASSERT_TRUE(log && scanned);
    for (const Notice& notice : log->take_notices()) EXPECT_EQ(notice.text, "");
    for (const Notice& notice : scanned->take_notices()) EXPECT_EQ(notice.text, "");
    if (recovery_point != recovery_points.end()) {
      EXPECT_EQ(log->log_end_offset(), recovery_point->second);
    }
    EXPECT_EQ(log->log_end_offset(), scanned->log_end_offset());
    EXPECT_EQ(log->log_start_offset(), scanned->log_start_offset());
    EXPECT_EQ(log->leader_epochs().entries(), scanned->leader_epochs().entries());
    EXPECT_EQ(clean.read_all(*log), unclean.read_all(*scanned));
    // The producers' states of the snapshot and those that the batches tell.
    for (const auto& [id, state] : log->producers().all()) {
      const ProducerState* told = scanned->producers().find(id);
      if (folder.contains("__transaction_state") || folder.contains("compact")) continue;  // compacted: the batches tell less
      ASSERT_TRUE(told) << id;
      EXPECT_EQ(told->epoch, state.epoch);
      EXPECT_EQ(told->last_sequence(), state.last_sequence());
      EXPECT_EQ(told->last_offset(), state.last_offset());
      EXPECT_EQ(told->current_transaction_first_offset, state.current_transaction_first_offset);
    }
    while (auto task = log->begin_verify(1 << 30)) {
      task->run();
      ASSERT_TRUE(log->finish_verify(*task).has_value());
    }
    EXPECT_TRUE(log->damaged_ranges().empty());
    ASSERT_TRUE((*read_partition_metadata(clean.files, clean.directory)).has_value());
  }
}

TEST(Golden, the_indexes_we_make_of_the_same_batches_are_the_same_bytes) {
  for (const std::string& folder : partition_folders()) {
    SCOPED_TRACE(folder);
    if (folder.contains("compact") || folder.contains("__")) continue;  // compaction and fetches by several batches index elsewhere
    Copy copy(folder);
    std::map<std::string, Bytes> theirs;
    const auto entries = copy.files.list(copy.directory);
    for (const auto& entry : *entries) {
      if (entry.name.ends_with("index")) {
        theirs[entry.name] = *copy.files.read_file(copy.path(entry.name));
        ASSERT_TRUE(copy.files.remove(copy.path(entry.name)).has_value());
      }
    }
    auto log = copy.open();
    ASSERT_TRUE(log->close().has_value());
    for (const auto& [name, bytes] : theirs) {
      if (bytes.empty() && !copy.files.exists(copy.path(name))) continue;
      EXPECT_EQ(*copy.files.read_file(copy.path(name)), bytes) << name;
    }
  }
}

TEST(Golden, damaged_files_end_in_a_cut_or_a_known_range) {
  struct Case {
    const char* name;
    int64_t end_offset;
    size_t damaged;
  };
  for (const Case& c : {Case{"plain", 1020, 0}, Case{"torn-tail", 0, 0}, Case{"torn-header", 0, 0}, Case{"zero-tail", 1020, 0}, Case{"garbage-tail", 1020, 0},
                        Case{"bad-sum", 1020, 1}, Case{"bad-magic", 1020, 1}, Case{"bad-length", 1020, 1}, Case{"gap", 0, 0}}) {
    SCOPED_TRACE(c.name);
    Copy copy(golden + "made/" + c.name);
    copy.options.log_start_offset = 1000;
    auto log = copy.open();
    ASSERT_TRUE(log);
    if (c.end_offset > 0) {
      EXPECT_EQ(log->log_end_offset(), c.end_offset);
    }
    EXPECT_EQ(log->damaged_ranges().size(), c.damaged);
    if (c.damaged == 0) {
      EXPECT_GT(copy.read_all(*log).size(), 10u);
    }
  }
}

TEST(Golden, snapshots_quorum_state_and_identity) {
  const auto files = io::make_posix_file_system();
  const std::string folder = golden + "real/controller/__cluster_metadata-0";
  const auto ids = *list_snapshots(*files, folder);
  ASSERT_EQ(ids.size(), 4u);
  EXPECT_EQ(ids[0], bootstrap_snapshot);
  EXPECT_EQ(ids[1], (SnapshotId{172, 1}));
  for (const SnapshotId id : ids) EXPECT_TRUE((*SnapshotReader::open(*files, folder, id))->check().has_value());
  const auto state = *read_quorum_state(*files, folder);
  EXPECT_EQ(state->version, 1);
  EXPECT_EQ(state->data->leader_epoch, 1);
  const auto properties = *read_meta_properties(*files, golden + "real/controller");
  EXPECT_EQ(properties->node_id, 1);
  EXPECT_EQ(as_text(encode_meta_properties(*properties, WallTime{1'796'058'408'000})), as_text(content_of(golden + "real/controller/meta.properties")));
}

}  // namespace
}  // namespace castellan::log

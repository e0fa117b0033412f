// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The metadata logs and snapshots that Apache Kafka wrote (test/golden), followed and written again.

#include <gtest/gtest.h>

#include <fstream>

#include "image/apply.h"
#include "image/snapshot.h"
#include "record/batch.h"
#include "record/reader.h"

#ifndef CASTELLAN_GOLDEN
#define CASTELLAN_GOLDEN "test/golden"
#endif

namespace castellan::image {
namespace {

Bytes read_golden(const std::string& path) {
  for (const char* root : {CASTELLAN_GOLDEN "/", "../../test/golden/", "../../../test/golden/"}) {
    std::ifstream in(root + path, std::ios::binary);
    if (in) return Bytes(std::istreambuf_iterator<char>(in), {});
  }
  ADD_FAILURE() << "cannot read test/golden/" << path << "; run the test from the top of the repository or from the build folder";
  return {};
}

struct Logged {
  int64_t offset;
  MetadataRecord record;
};

// The records of all data batches.
std::vector<Logged> records_of(const Bytes& file) {
  std::vector<Logged> all;
  record::BatchScanner scanner(file);
  while (true) {
    auto batch = scanner.next();
    if (!batch || !*batch) break;
    if ((*batch)->is_control()) continue;
    record::RecordReader reader(**batch);
    record::Record record;
    while (*reader.next(record)) {
      auto decoded = decode_metadata_record(*record.value);
      EXPECT_TRUE(decoded) << "offset " << record.offset << ": " << decoded.error().message;
      if (!decoded) continue;
      EXPECT_EQ(encode_metadata_record(*decoded), to_bytes(*record.value)) << record_name(*decoded) << " at " << record.offset;
      all.push_back({record.offset, std::move(*decoded)});
    }
  }
  return all;
}

Image image_of_snapshot(const Bytes& file, int64_t last_offset) {
  Image image;
  for (const Logged& each : records_of(file)) {
    const auto applied = apply(image, each.record, Offset(last_offset));
    EXPECT_TRUE(applied) << applied.error().message;
  }
  return image;
}

std::vector<Bytes> snapshot_of(const Image& image) {
  std::vector<Bytes> values;
  const auto losses = snapshot_records(image, [&](const MetadataRecord& record) { values.push_back(encode_metadata_record(record)); });
  EXPECT_TRUE(losses.empty());
  return values;
}

const std::string controller = "real/controller/__cluster_metadata-0/";

TEST(Golden, LogAndSnapshotsOfAKafkaControllerAgree) {
  Replay replay;
  size_t compared = 0;
  const std::pair<int64_t, std::string> snapshots[] = {{172, "00000000000000000172-0000000001.checkpoint"},
                                                      {261, "00000000000000000261-0000000001.checkpoint"},
                                                      {332, "00000000000000000332-0000000001.checkpoint"}};
  for (const char* segment : {"00000000000000000000.log", "00000000000000000029.log", "00000000000000000106.log", "00000000000000000132.log",
                              "00000000000000000218.log", "00000000000000000238.log", "00000000000000000280.log"}) {
    for (const Logged& each : records_of(read_golden(controller + segment))) {
      for (const auto& [end, name] : snapshots) {
        if (replay.tip().last_offset.value >= end || each.offset < end) continue;
        const Image loaded = image_of_snapshot(read_golden(controller + name), end - 1);
        EXPECT_EQ(replay.stable().features, loaded.features) << name;
        EXPECT_EQ(replay.stable().topics.by_id, loaded.topics.by_id) << name;
        EXPECT_EQ(replay.stable().cluster.brokers, loaded.cluster.brokers) << name;
        EXPECT_EQ(replay.stable().configs.resources, loaded.configs.resources) << name;
        EXPECT_TRUE(replay.stable() == loaded) << name;
        EXPECT_EQ(snapshot_of(replay.stable()), snapshot_of(loaded)) << name;
        ++compared;
      }
      const auto applied = replay.apply(each.record, Offset(each.offset));
      ASSERT_TRUE(applied) << applied.error().message;
    }
  }
  EXPECT_EQ(compared, 3u);
  EXPECT_GT(replay.stable().topics.partition_count, 0);
}

TEST(Golden, ASnapshotOfOursReadsBackEqual) {
  const Image image = image_of_snapshot(read_golden(controller + "00000000000000000332-0000000001.checkpoint"), 331);
  Image again;
  for (const Bytes& value : snapshot_of(image)) ASSERT_TRUE(apply(again, *decode_metadata_record(value), Offset{331}));
  EXPECT_TRUE(again == image);
  EXPECT_EQ(snapshot_of(again), snapshot_of(image));
}

// Features of a registration lie in hash order in Kafka's snapshots, by name in ours.
template <class M>
bool sort_features(MetadataRecord& record) {
  auto* message = std::get_if<M>(&record.message);
  if (message != nullptr) std::ranges::sort(message->features, {}, [](const auto& feature) { return feature.name; });
  return message != nullptr;
}

TEST(Golden, OursHoldsTheSameRecordsAsKafkasSnapshot) {
  // Records lie in hash order there too: compare as sorted lists of bytes.
  for (const auto& [name, end] : {std::pair("00000000000000000172-0000000001.checkpoint", 172), std::pair("00000000000000000332-0000000001.checkpoint", 332)}) {
    const Bytes file = read_golden(controller + name);
    std::vector<Bytes> theirs;
    for (Logged each : records_of(file)) {
      sort_features<wire::RegisterBrokerRecord>(each.record) || sort_features<wire::RegisterControllerRecord>(each.record);
      theirs.push_back(encode_metadata_record(each.record));
    }
    std::vector<Bytes> ours = snapshot_of(image_of_snapshot(file, end - 1));
    std::ranges::sort(theirs);
    std::ranges::sort(ours);
    EXPECT_EQ(ours.size(), theirs.size());
    size_t different = 0;
    for (const Bytes& value : ours) {
      if (std::ranges::binary_search(theirs, value)) continue;
      ++different;
      ADD_FAILURE() << name << ": not in Kafka's: " << record_name(*decode_metadata_record(value)) << " " << to_hex(value, 400);
    }
    EXPECT_EQ(different, 0u);
  }
}

TEST(Golden, EveryRecordTypeDecodesAndEncodesToTheSameBytes) {
  std::set<std::string_view> names;
  for (const Logged& each : records_of(read_golden("made/metadata-every-record/00000000000000000000.log"))) names.insert(record_name(each.record));
  EXPECT_EQ(names.size(), std::variant_size_v<wire::AnyMetadataRecord>);
}

}  // namespace
}  // namespace castellan::image

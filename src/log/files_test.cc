// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The small files: checkpoints, identity, partition metadata, quorum state, snapshots, a directory as a whole.

#include <gtest/gtest.h>

#include "io/memory/memory_file_system.h"
#include "log/directory.h"
#include "log/metadata_snapshot.h"
#include "log/partition_metadata.h"
#include "log/quorum_state_file.h"
#include "log/topic_partition.h"
#include "record/builder.h"
#include "wire/messages/kraft_version_record.h"
#include "wire/messages/quorum_state_data.h"
#include "wire/messages/voters_record.h"

namespace castellan::log {
namespace {

constexpr WallTime now{1'796'058'408'000};  // Mon Nov 30 17:06:48 UTC 2026
const TopicId topic{Uuid{0x1234, 0x5678}};

class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    (void)files_.make_directories("/d");
    (void)files_.sync_directory("/");
  }
  void write(const std::string& path, std::string_view text) { ASSERT_TRUE(files_.replace_file(path, as_bytes(text)).has_value()); }
  std::string read(const std::string& path) const {
    const auto bytes = files_.read_file(path);
    return bytes ? std::string(as_text(*bytes)) : bytes.error().message;
  }
  io::MemoryFileSystem files_;
};

TEST_F(FilesTest, folder_names_carry_partition_and_kind) {
  const TopicPartition partition{"a-b.c", 12};
  EXPECT_EQ(folder_name(partition), "a-b.c-12");
  const Uuid unique{0xabc, 0xdef};
  EXPECT_EQ(folder_name(partition, FolderKind::deleted, unique), "a-b.c-12.0000000000000abc0000000000000def-delete");
  for (const FolderKind kind : {FolderKind::live, FolderKind::deleted, FolderKind::stray, FolderKind::future}) {
    const auto parsed = parse_folder_name(folder_name(partition, kind, unique));
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->partition, partition);
    EXPECT_EQ(parsed->kind, kind);
  }
  EXPECT_EQ(folder_name({std::string(249, 'x'), 3}, FolderKind::stray, unique).size(), 255u);
  for (const char* name : {"lost+found", "t", "-1", "t-", "t-x", "t-1-delete", "t--1x", "t-1x", "t-99999999999"}) EXPECT_FALSE(parse_folder_name(name).has_value()) << name;
}

TEST_F(FilesTest, checkpoints_are_read_back_and_malformed_ones_named) {
  const OffsetsByPartition offsets{{{"a", 0}, 5}, {{"a-b", 3}, 0}, {{"z", 12}, INT64_MAX}};
  ASSERT_TRUE(write_checkpoint(files_, "/d/c", offsets).has_value());
  EXPECT_EQ(read("/d/c"), "0\n3\na 0 5\na-b 3 0\nz 12 9223372036854775807\n");
  EXPECT_EQ(*read_checkpoint(files_, "/d/c"), offsets);
  EXPECT_TRUE(read_checkpoint(files_, "/d/none")->empty());
  write("/d/c", "");
  EXPECT_TRUE(read_checkpoint(files_, "/d/c")->empty());
  write("/d/c", "0\n1\na  0   5\n");  // as Kafka, which splits at any blanks
  EXPECT_EQ(read_checkpoint(files_, "/d/c")->size(), 1u);
  for (const char* text : {"1\n0\n", "0\n2\na 0 5\n", "0\n0\na 0 5\n", "0\n1\na 0\n", "0\n1\na 0 5 6\n", "0\n1\na x 5\n", "0\n1\na 0 x\n", "x\n", "0\nx\n", "0\n1\na -1 5\n"}) {
    write("/d/c", text);
    const auto result = read_checkpoint(files_, "/d/c");
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code, ErrorCode::CORRUPT_MESSAGE);
    EXPECT_NE(result.error().message.find("/d/c"), std::string::npos);
  }
}

TEST_F(FilesTest, meta_properties_have_javas_form) {
  const MetaProperties properties{.cluster_id = "9c2k4HQKQ0S0WObukiKH0w", .node_id = 1, .directory_id = *Uuid::parse("8xbzQm9GTQioCijes1IRnQ")};
  ASSERT_TRUE(write_meta_properties(files_, "/d", properties, now).has_value());
  EXPECT_EQ(read("/d/meta.properties"),
            "#\n#Mon Nov 30 17:06:48 UTC 2026\nnode.id=1\ndirectory.id=8xbzQm9GTQioCijes1IRnQ\nversion=1\ncluster.id=9c2k4HQKQ0S0WObukiKH0w\n");
  EXPECT_EQ(**read_meta_properties(files_, "/d"), properties);
  EXPECT_FALSE(read_meta_properties(files_, "/none")->has_value());
  write("/d/meta.properties", "# old\r\nversion = 0\r\nbroker.id : 7\r\n");
  EXPECT_EQ(**read_meta_properties(files_, "/d"), (MetaProperties{.version = 0, .node_id = 7}));
  for (const char* text : {"", "# only a comment\n", "version=1\ncluster.id=x\n", "version=1\nnode.id=1\n", "version=2\nnode.id=1\ncluster.id=x\n",
                           "version=1\nnode.id=one\ncluster.id=x\n", "version=1\nnode.id=1\ncluster.id=x\ndirectory.id=short\n", "\x00\x01garbage"}) {
    write("/d/meta.properties", text);
    const auto result = read_meta_properties(files_, "/d");
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_NE(result.error().message.find("/d/meta.properties"), std::string::npos);
  }
}

TEST_F(FilesTest, partition_metadata_is_read_back) {
  ASSERT_TRUE(write_partition_metadata(files_, "/d", topic).has_value());
  EXPECT_EQ(read("/d/partition.metadata"), "version: 0\ntopic_id: " + topic.value.text());
  EXPECT_EQ(*read_partition_metadata(files_, "/d"), topic);
  EXPECT_FALSE(read_partition_metadata(files_, "/none")->has_value());
  for (const char* text : {"", "garbage", "version: 0\n", "version: -1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"}) {
    write("/d/partition.metadata", text);
    EXPECT_EQ(read_partition_metadata(files_, "/d").error().code, ErrorCode::CORRUPT_MESSAGE) << text;
  }
}

TEST_F(FilesTest, quorum_state_in_both_versions) {
  wire::QuorumStateData data;
  data.leader_id = 1;
  data.leader_epoch = 4;
  data.voted_id = -1;
  ASSERT_TRUE(write_quorum_state(files_, "/d", data, 1).has_value());
  EXPECT_EQ(read("/d/quorum-state"), R"({"leaderId":1,"leaderEpoch":4,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1})");
  auto back = read_quorum_state(files_, "/d");
  ASSERT_TRUE(back.has_value() && back->has_value());
  EXPECT_EQ(*(*back)->data, data);
  EXPECT_EQ((*back)->version, 1);
  data.current_voters->resize(1);
  ASSERT_TRUE(write_quorum_state(files_, "/d", data, 0).has_value());
  EXPECT_EQ((*read_quorum_state(files_, "/d"))->data->current_voters->size(), 1u);
  EXPECT_FALSE(read_quorum_state(files_, "/none")->has_value());
  for (const char* text : {"", "{", "[]", "{\"data_version\":7}", "{\"data_version\":1}", "garbage", "{\"leaderId\":1,\"leaderEpoch\":4"}) {
    write("/d/quorum-state", text);
    const auto result = read_quorum_state(files_, "/d");
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_NE(result.error().message.find("/d/quorum-state"), std::string::npos);
  }
}

TEST_F(FilesTest, a_snapshot_appears_whole_or_not_at_all) {
  const SnapshotId id{172, 1};
  wire::KRaftVersionRecord version;
  wire::VotersRecord voters;
  record::BatchBuilder records({.base_offset = 3, .leader_epoch = 1});
  records.append(5, std::nullopt, as_bytes("a record"));
  {
    auto writer = *SnapshotWriter::create(files_, "/d", id);
    ASSERT_TRUE(writer->append(snapshot_header_batch(id, 77, &version, &voters, 5)).has_value());
    EXPECT_TRUE(list_snapshots(files_, "/d")->empty());
  }
  EXPECT_TRUE(files_.list("/d")->empty());  // given up: nothing stays
  auto writer = *SnapshotWriter::create(files_, "/d", id);
  ASSERT_TRUE(writer->append(snapshot_header_batch(id, 77, &version, &voters, 5)).has_value());
  ASSERT_TRUE(writer->append(records.finish()).has_value());
  ASSERT_TRUE(writer->append(snapshot_footer_batch(id, 4, 6)).has_value());
  ASSERT_TRUE(writer->freeze().has_value());
  files_.crash();
  EXPECT_EQ(*list_snapshots(files_, "/d"), (std::vector<SnapshotId>{id}));
  auto reader = *SnapshotReader::open(files_, "/d", id);
  int batches = 0;
  for (auto batch = reader->next(); batch && *batch; batch = reader->next()) ++batches;
  EXPECT_EQ(batches, 3);
  EXPECT_TRUE(reader->check().has_value());

  // Every cut and every flipped byte is found, and the file named.
  const Bytes whole = *files_.read_file(snapshot_path("/d", id));
  for (size_t size = 0; size < whole.size(); size += 7) {
    write(snapshot_path("/d", id), as_text(BytesView(whole).first(size)));
    const auto checked = (*SnapshotReader::open(files_, "/d", id))->check();
    ASSERT_FALSE(checked.has_value()) << size;
    EXPECT_NE(checked.error().message.find("00000000000000000172-0000000001.checkpoint"), std::string::npos);
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    Bytes bad = whole;
    bad[at] ^= 0x21;
    write(snapshot_path("/d", id), as_text(bad));
    EXPECT_FALSE((*SnapshotReader::open(files_, "/d", id))->check().has_value()) << at;
  }
  ASSERT_TRUE(delete_snapshot(files_, "/d", id).has_value());
  EXPECT_TRUE(files_.list("/d")->empty());
}

TEST_F(FilesTest, leftovers_of_snapshots_go) {
  for (const char* name : {"/d/00000000000000000172-0000000001-8812.checkpoint.part", "/d/00000000000000000172-0000000001.checkpoint.deleted",
                           "/d/00000000000000000172-0000000001.checkpoint", "/d/quorum-state", "/d/x.checkpoint"})
    write(name, "x");
  EXPECT_EQ(list_snapshots(files_, "/d", true)->size(), 1u);
  EXPECT_EQ(files_.list("/d")->size(), 3u);
}

TEST_F(FilesTest, a_directory_from_begin_to_clean_end) {
  ASSERT_TRUE(lock_directory(files_, "/d").has_value());
  write("/d/replication-offset-checkpoint", "0\n1\nt 0 42\n");
  write("/d/recovery-point-offset-checkpoint", "nonsense");
  write("/d/.kafka_cleanshutdown", "{\"version\":0,\"brokerEpoch\":9}");
  for (const char* name : {"/d/t-0", "/d/t-1.00000000000000000000000000000001-delete", "/d/lost+found", "/d/__cluster_metadata-0"})
    ASSERT_TRUE(files_.make_directories(name).has_value());
  auto directory = *LogDirectory::open(files_, "/d");
  EXPECT_EQ(directory->clean_shutdown()->broker_epoch, 9);
  EXPECT_FALSE(directory->meta_properties().has_value());
  ASSERT_EQ(directory->folders().size(), 2u);
  EXPECT_EQ(directory->folders()[1].kind, FolderKind::deleted);
  const auto notices = directory->take_notices();
  ASSERT_EQ(notices.size(), 2u);  // lost+found, and the checkpoint that cannot be read
  EXPECT_NE(notices[1].text.find("recovery-point-offset-checkpoint"), std::string::npos);
  const OpenOptions options = directory->open_options({"t", 0}, now);
  EXPECT_TRUE(options.clean_shutdown);
  EXPECT_EQ(options.high_watermark, 42);
  EXPECT_EQ(options.recovery_point, 0);
  ASSERT_TRUE(directory->begin().has_value());
  files_.crash();
  EXPECT_FALSE(read_clean_shutdown(files_, "/d")->has_value());
  directory = *LogDirectory::open(files_, "/d");
  directory->recovery_points[{"t", 0}] = 7;
  ASSERT_TRUE(directory->write_recovery_points().has_value());
  ASSERT_TRUE(directory->end(11).has_value());
  files_.crash();
  EXPECT_EQ(read("/d/.kafka_cleanshutdown"), "{\"version\":0,\"brokerEpoch\":11}");
  EXPECT_EQ((*LogDirectory::open(files_, "/d"))->open_options({"t", 0}, now).recovery_point, 7);
}

TEST_F(FilesTest, an_old_empty_clean_marker_counts) {
  write("/d/.kafka_cleanshutdown", "");
  EXPECT_EQ((*read_clean_shutdown(files_, "/d"))->broker_epoch, -1);
}

TEST_F(FilesTest, a_node_remembers_the_partitions_whose_folder_it_made) {
  auto directory = *LogDirectory::open(files_, "/d");
  ASSERT_TRUE(directory->make_partition({"t", 0}, topic).has_value());
  ASSERT_TRUE(directory->make_partition({"t", 1}, topic).has_value());
  ASSERT_TRUE(directory->make_partition({"t", 1}, topic).has_value());
  ASSERT_TRUE(directory->forget_made(topic, 0).has_value());
  ASSERT_TRUE(directory->forget_made(topic, 5).has_value());
  files_.crash();
  EXPECT_EQ(*read_partition_metadata(files_, "/d/t-1"), topic);
  auto again = *LogDirectory::open(files_, "/d");
  EXPECT_TRUE(again->made(topic, 1));
  EXPECT_FALSE(again->made(topic, 0));
  // A line that a crash cut off is overwritten by the next.
  auto file = *files_.open("/d/.castellan_partitions", io::OpenMode::read_write);
  ASSERT_TRUE(file->write_at(*file->size(), as_bytes("+ AAAA")).has_value());
  again = *LogDirectory::open(files_, "/d");
  ASSERT_TRUE(again->make_partition({"t", 2}, topic).has_value());
  again = *LogDirectory::open(files_, "/d");
  EXPECT_TRUE(again->made(topic, 1) && again->made(topic, 2));
  EXPECT_TRUE(again->take_notices().empty());
}

}  // namespace
}  // namespace castellan::log

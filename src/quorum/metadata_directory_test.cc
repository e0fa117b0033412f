// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The table of metadata_directory.h, line by line.

#include "quorum/metadata_directory.h"

#include <gtest/gtest.h>

#include "image/image.h"
#include "log/metadata_snapshot.h"
#include "quorum/acknowledged.h"
#include "quorum/testing.h"

namespace castellan::quorum {
namespace {

// A node that has written some of its log, and is down.
class MetadataDirectoryTest : public testing::Test {
 protected:
  void live(TestNode& node, std::chrono::seconds time = std::chrono::seconds(30)) {
    const auto started = node.start();
    ASSERT_TRUE(started) << started.error().message;
    ASSERT_TRUE(node.run_until_active());
    world.run_for(time);
    ASSERT_TRUE(node.stop());
  }
  void SetUp() override {
    node.format();
    live(node);
  }

  std::string log_file() const { return node.folder + "/00000000000000000000.log"; }
  uint64_t size_of(const std::string& path) { return *(*files.open(path, io::OpenMode::read_only))->size(); }
  void flip(const std::string& path, uint64_t position) { flip_in(files, path, position); }
  void flip_in(io::MemoryFileSystem& where, const std::string& path, uint64_t position) {
    const auto file = *where.open(path, io::OpenMode::read_write);
    uint8_t byte = 0;
    ASSERT_TRUE(file->read_at(position, std::span(&byte, 1)));
    byte ^= 0x40;
    ASSERT_TRUE(file->write_at(position, std::span(&byte, 1)));
  }
  void cut(const std::string& path, uint64_t size) { ASSERT_TRUE((*files.open(path, io::OpenMode::read_write))->truncate(size)); }
  std::string refusal(TestNode& refused) {
    const auto started = refused.start();
    return started ? "" : started.error().message;
  }
  bool told(const TestNode& told_node, const std::string& text) {
    return std::ranges::any_of(told_node.lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }

  io::MemoryFileSystem files;
  World world{3};
  TestNode node{world, files, {}};
};

TEST_F(MetadataDirectoryTest, a_torn_last_write_is_cut_and_said_in_one_line) {
  // As a crash does it: nothing after the torn write was acknowledged, so what was is not above it.
  ASSERT_TRUE(files.remove(node.directory + "/" + std::string(acknowledged_name)));
  cut(log_file(), size_of(log_file()) - 5);
  node.lines.clear();
  ASSERT_TRUE(node.start());
  ASSERT_TRUE(node.run_until_active());
  EXPECT_TRUE(told(node, log_file())) << "lines: " << node.lines.size();
  EXPECT_EQ(node.node().image()->features.metadata_version->level(), 33);
}

TEST_F(MetadataDirectoryTest, a_flipped_byte_in_the_log_of_the_only_voter_is_refused_by_file_and_position) {
  flip(log_file(), size_of(log_file()) / 2);
  const std::string reason = refusal(node);
  EXPECT_NE(reason.find(log_file()), std::string::npos) << reason;
  EXPECT_NE(reason.find("Bring the file back"), std::string::npos) << reason;
}

TEST_F(MetadataDirectoryTest, a_damaged_middle_is_cut_and_kept_aside_where_other_voters_have_the_records) {
  io::MemoryFileSystem others_files;
  TestNode alone{world, others_files, {.static_voters = true}};
  alone.format();
  live(alone);
  flip_in(others_files, log_file(), 300);
  const Bytes damaged = *others_files.read_file(log_file());
  TestNode one_of_three{world, others_files, {.static_voters = true, .voters = {1, 2, 3}}};
  const auto started = one_of_three.start();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(*others_files.read_file(log_file() + ".damaged"), damaged);
  EXPECT_LT(others_files.read_file(log_file())->size(), damaged.size());
  EXPECT_TRUE(told(one_of_three, "before this node votes"));
  EXPECT_TRUE(told(one_of_three, log_file() + ": kept as it was as .damaged"));
  world.run_for(std::chrono::seconds(30));
  EXPECT_FALSE(one_of_three.node().view().is_leader);
}

TEST_F(MetadataDirectoryTest, a_log_that_ends_before_what_was_acknowledged_is_refused) {
  const uint64_t half = size_of(log_file()) / 2;
  ASSERT_TRUE(files.exists(node.directory + "/" + std::string(acknowledged_name)));
  cut(log_file(), half);
  const std::string reason = refusal(node);
  EXPECT_NE(reason.find("has acknowledged up to offset"), std::string::npos) << reason;
  EXPECT_NE(reason.find(acknowledged_name), std::string::npos) << reason;
}

TEST_F(MetadataDirectoryTest, a_wiped_folder_of_a_formatted_directory_is_refused) {
  ASSERT_TRUE(files.remove_all(node.folder));
  const std::string reason = refusal(node);
  EXPECT_NE(reason.find(node.folder), std::string::npos) << reason;
  EXPECT_NE(reason.find("missing"), std::string::npos) << reason;
}

TEST_F(MetadataDirectoryTest, the_folder_of_an_older_format_is_made_at_the_first_start) {
  io::MemoryFileSystem old_files;
  TestNode old{world, old_files, {.static_voters = true}};
  old.format();
  const Bytes bootstrap = *old_files.read_file(log::snapshot_path(old.folder, log::bootstrap_snapshot));
  ASSERT_TRUE(old_files.remove_all(old.folder));
  ASSERT_TRUE(old_files.replace_file(old.directory + "/bootstrap.checkpoint", bootstrap));
  const auto started = old.start();
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_TRUE(old.run_until_active());
  ASSERT_TRUE(world.run_until([&] { return !old.node().image()->empty(); }));
  EXPECT_EQ(old.node().image()->features.metadata_version->level(), 33);
}

TEST_F(MetadataDirectoryTest, a_quorum_state_that_cannot_be_read_is_refused_by_name) {
  for (const std::string content : {"", "{\"leaderId\":1,", "not json", "{\"leaderId\":1,\"data_version\":9}"}) {
    ASSERT_TRUE(files.replace_file(node.folder + "/quorum-state", as_bytes(content)));
    const std::string reason = refusal(node);
    EXPECT_NE(reason.find("quorum-state"), std::string::npos) << reason;
  }
}

TEST_F(MetadataDirectoryTest, without_quorum_state_the_log_says_which_epochs_are_over) {
  ASSERT_TRUE(files.remove(node.folder + "/quorum-state"));
  ASSERT_TRUE(node.start());
  ASSERT_TRUE(node.run_until_active());
  EXPECT_EQ(node.node().view().epoch, Epoch{2});
}

TEST_F(MetadataDirectoryTest, a_damaged_bootstrap_snapshot_is_put_aside_when_the_log_has_everything) {
  const std::string path = log::snapshot_path(node.folder, log::bootstrap_snapshot);
  flip(path, size_of(path) / 2);
  ASSERT_TRUE(node.start());
  ASSERT_TRUE(node.run_until_active());
  EXPECT_TRUE(told(node, path));
  EXPECT_TRUE(files.exists(path + ".damaged"));
  EXPECT_EQ(node.node().view().kraft_version, 1);
}

TEST_F(MetadataDirectoryTest, a_damaged_bootstrap_snapshot_and_no_log_is_refused_by_name) {
  io::MemoryFileSystem fresh_files;
  TestNode fresh{world, fresh_files, {}};
  fresh.format();
  const std::string path = log::snapshot_path(fresh.folder, log::bootstrap_snapshot);
  ASSERT_TRUE((*fresh_files.open(path, io::OpenMode::read_write))->truncate(0));
  const std::string reason = refusal(fresh);
  EXPECT_NE(reason.find(path), std::string::npos) << reason;
}

class WithSnapshots : public MetadataDirectoryTest {
 protected:
  void SetUp() override {
    many.format();
    // An empty record twice a second, about 80 bytes each: a snapshot every ten seconds or so.
    live(many, std::chrono::seconds(60));
    ids = *log::list_snapshots(files, many.folder);
    ASSERT_GE(ids.size(), 3u);
  }
  std::string newest() const { return log::snapshot_path(many.folder, ids.back()); }

  TestNode many{world, files, {.extra_properties = "metadata.log.max.record.bytes.between.snapshots=1500\n"}};
  std::vector<log::SnapshotId> ids;
};

TEST_F(WithSnapshots, an_older_snapshot_and_the_log_stand_in_for_a_damaged_newest_one) {
  for (const auto& damage : {0, 1}) {
    if (damage == 0) cut(newest(), 0);
    else flip(newest(), size_of(newest()) / 2);
    many.lines.clear();
    ASSERT_TRUE(many.start());
    ASSERT_TRUE(many.run_until_active());
    EXPECT_TRUE(told(many, newest()));
    EXPECT_EQ(many.node().image()->features.metadata_version->level(), 33);
    ASSERT_TRUE(many.stop());
    ids = *log::list_snapshots(files, many.folder);
  }
}

TEST_F(WithSnapshots, damage_in_the_log_below_the_newest_snapshot_stops_nothing) {
  flip(log_file(), 300);
  many.lines.clear();
  ASSERT_TRUE(many.start());
  ASSERT_TRUE(many.run_until_active());
  EXPECT_TRUE(told(many, log_file()));
}

TEST_F(WithSnapshots, damage_in_the_log_behind_the_newest_snapshot_is_refused) {
  flip(log_file(), size_of(log_file()) - 100);
  const std::string reason = refusal(many);
  EXPECT_NE(reason.find(log_file()), std::string::npos) << reason;
}

TEST(AcknowledgedFile, survives_a_torn_write_of_its_newer_place) {
  io::MemoryFileSystem files;
  ASSERT_TRUE(files.make_directories("/d"));
  const Acknowledged first{"c", DirectoryId{Uuid{1, 2}}, {Offset{10}, Epoch{1}}}, second{"c", DirectoryId{Uuid{1, 2}}, {Offset{20}, Epoch{1}}};
  AcknowledgedFile file(files, "/d");
  EXPECT_EQ(*file.read(), std::nullopt);
  ASSERT_TRUE(file.write(first));
  ASSERT_TRUE(file.write(second));
  EXPECT_EQ(*AcknowledgedFile(files, "/d").read(), second);
  const uint8_t garbage = 'x';
  ASSERT_TRUE((*files.open(file.path(), io::OpenMode::read_write))->write_at(512 + 4, std::span(&garbage, 1)));
  EXPECT_EQ(*AcknowledgedFile(files, "/d").read(), first);
  ASSERT_TRUE((*files.open(file.path(), io::OpenMode::read_write))->write_at(4, std::span(&garbage, 1)));
  const auto nothing = AcknowledgedFile(files, "/d").read();
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message.find(file.path()), std::string::npos);
}

}  // namespace
}  // namespace castellan::quorum

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/recover.h"

#include <gtest/gtest.h>

#include "image/image.h"
#include "log/metadata_snapshot.h"
#include "log/quorum_state_file.h"
#include "quorum/acknowledged.h"
#include "quorum/testing.h"
#include "wire/messages/quorum_state_data.h"

namespace castellan::quorum {
namespace {

// A node that was one of three, and whose log holds what it wrote while it was alone.
class RecoverTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    TestNode alone{world, files, {.static_voters = GetParam()}};
    alone.format();
    write_identity(alone);
    ASSERT_TRUE(alone.start());
    ASSERT_TRUE(alone.run_until_active());
    world.run_for(std::chrono::seconds(5));
    ASSERT_TRUE(alone.stop());
  }
  void write_identity(const TestNode& of) {
    ASSERT_TRUE(log::write_meta_properties(files, of.directory, {.cluster_id = of.cluster_id, .node_id = of.id(), .directory_id = of.directory_id.value}, {}));
  }
  RecoveryOptions options() const { return {.node = NodeId{1}, .listeners = {{"CONTROLLER", {"elsewhere", 9193}}}, .static_voters = {}}; }
  Result<RecoveryPlan> plan() {
    TRY(const Survey survey, survey_directory(files, node.directory));
    return plan_recovery(survey, options());
  }
  std::map<std::string, Bytes> content() const {
    std::map<std::string, Bytes> all;
    for (const std::string& folder : {node.directory, node.folder}) {
      const auto entries = *files.list(folder);
      for (const auto& entry : entries) {
        if (!entry.is_directory) all[folder + "/" + entry.name] = *files.read_file(folder + "/" + entry.name);
      }
    }
    return all;
  }
  std::string log_file() const { return node.folder + "/00000000000000000000.log"; }

  io::MemoryFileSystem files;
  World world{7};
  // Since then it believes itself to be one of three.
  TestNode node{world, files, {.static_voters = GetParam(), .voters = {1, 2, 3}}};
};

TEST_P(RecoverTest, the_survivor_leads_alone_at_its_new_address_in_a_far_later_epoch) {
  const auto planned = plan();
  ASSERT_TRUE(planned) << planned.error().message;
  const Epoch seen = planned->survey.highest_epoch;
  EXPECT_GT(planned->epoch, seen + 100);
  const auto copies = recover(files, *planned, world.wall());
  ASSERT_TRUE(copies) << copies.error().message;

  const auto after = *survey_directory(files, node.directory);
  EXPECT_EQ(after.kraft_version, 1);
  EXPECT_EQ(after.voters, raft::VoterSet({planned->self}));
  EXPECT_EQ(after.end, (raft::LogPosition{planned->survey.end.offset + 3, planned->epoch}));
  ASSERT_TRUE(node.start());
  ASSERT_TRUE(node.run_until_active());
  EXPECT_EQ(node.node().view().epoch, planned->epoch + 1);
  EXPECT_EQ(node.node().image()->features.metadata_version->level(), 33);
  EXPECT_TRUE(node.fatal.empty());
}

TEST_P(RecoverTest, a_plan_changes_nothing_and_says_what_would_change) {
  const auto before = content();
  const auto planned = plan();
  ASSERT_TRUE(planned);
  EXPECT_EQ(content(), before);
  const std::string text = planned->text();
  EXPECT_NE(text.find("elsewhere:9193"), std::string::npos) << text;
  EXPECT_NE(text.find(fmt::format("{}", planned->epoch)), std::string::npos) << text;
}

TEST_P(RecoverTest, copies_of_what_was_changed_are_kept) {
  const auto before = content();
  const auto copies = recover(files, *plan(), world.wall());
  ASSERT_TRUE(copies);
  for (const std::string name : {"quorum-state", "00000000000000000000.log", "leader-epoch-checkpoint"}) {
    EXPECT_EQ(*files.read_file(*copies + "/" + name), before.at(node.folder + "/" + name)) << name;
  }
  EXPECT_EQ(*files.read_file(*copies + "/" + std::string(acknowledged_name)), before.at(node.directory + "/" + std::string(acknowledged_name)));
  EXPECT_FALSE(files.exists(node.directory + "/" + std::string(acknowledged_name)));
}

TEST_P(RecoverTest, the_new_epoch_is_above_those_that_only_one_file_has_seen) {
  wire::QuorumStateData state;
  state.leader_epoch = 5000;
  ASSERT_TRUE(log::write_quorum_state(files, node.folder, state, 1));
  EXPECT_GT(plan()->epoch, Epoch{5000});
  AcknowledgedFile file(files, node.directory);
  ASSERT_TRUE(file.write({node.cluster_id, node.directory_id, {Offset{900}, Epoch{6000}}}));
  const auto planned = plan();
  EXPECT_GT(planned->epoch, Epoch{6000});
  // And what this replica has acknowledged and lost is said.
  EXPECT_NE(planned->text().find("once acknowledged up to offset 900"), std::string::npos) << planned->text();
}

TEST_P(RecoverTest, damage_is_refused_by_file_and_position) {
  const auto file = *files.open(log_file(), io::OpenMode::read_write);
  uint8_t byte = 0;
  ASSERT_TRUE(file->read_at(200, std::span(&byte, 1)));
  byte ^= 0x40;
  ASSERT_TRUE(file->write_at(200, std::span(&byte, 1)));
  const auto planned = plan();
  ASSERT_FALSE(planned);
  EXPECT_NE(planned.error().message.find(log_file()), std::string::npos) << planned.error().message;
}

TEST_P(RecoverTest, a_torn_last_write_is_cut_and_its_copy_kept) {
  const uint64_t size = files.read_file(log_file())->size();
  ASSERT_TRUE((*files.open(log_file(), io::OpenMode::read_write))->truncate(size - 5));
  const auto planned = plan();
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->survey.remarks.size(), 1u);
  const auto copies = recover(files, *planned, world.wall());
  ASSERT_TRUE(copies) << copies.error().message;
  EXPECT_EQ(files.read_file(*copies + "/00000000000000000000.log")->size(), size - 5);
}

TEST_P(RecoverTest, what_cannot_be_a_voter_is_refused) {
  const auto survey = *survey_directory(files, node.directory);
  auto wrong_node = options();
  wrong_node.node = NodeId{2};
  EXPECT_NE(plan_recovery(survey, wrong_node).error().message.find("belongs to node 1"), std::string::npos);
  auto nowhere = options();
  nowhere.listeners["CONTROLLER"].host = "0.0.0.0";
  EXPECT_NE(plan_recovery(survey, nowhere).error().message.find("advertised.listeners"), std::string::npos);
  auto no_directory_id = survey;
  no_directory_id.meta.directory_id.reset();
  EXPECT_NE(plan_recovery(no_directory_id, options()).error().message.find("directory.id"), std::string::npos);
  EXPECT_FALSE(survey_directory(files, "/nowhere"));
}

INSTANTIATE_TEST_SUITE_P(KRaftVersion, RecoverTest, testing::Bool(), [](const auto& info) { return info.param ? "from_0" : "from_1"; });

}  // namespace
}  // namespace castellan::quorum

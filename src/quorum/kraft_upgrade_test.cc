// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// kraft.version through the whole node: UpdateFeatures, the quorum's own records, what lies on disk (KIP-853).

#include <gtest/gtest.h>

#include "log/meta_properties.h"
#include "quorum/survey.h"
#include "quorum/testing.h"
#include "wire/codec.h"
#include "wire/messages/update_features_request.h"
#include "wire/messages/update_features_response.h"

namespace castellan::quorum {
namespace {

class KRaftUpgrade : public testing::Test {
 protected:
  void SetUp() override {
    node.format();
    ASSERT_TRUE(log::write_meta_properties(files, node.directory, {.cluster_id = node.cluster_id, .node_id = 1, .directory_id = node.directory_id.value}, {}));
    ASSERT_TRUE(node.start());
    ASSERT_TRUE(node.run_until_active());
    world.run_for(std::chrono::seconds(1));
  }
  wire::UpdateFeaturesResponse update(std::vector<std::pair<std::string, int16_t>> levels, bool validate_only = false) {
    wire::UpdateFeaturesRequest request;
    request.timeout_ms = 10'000;
    request.validate_only = validate_only;
    for (const auto& [name, level] : levels) request.feature_updates.push_back({.feature = name, .max_version_level = level, .upgrade_type = 1});
    const auto answer = node.call(wire::UpdateFeaturesRequest::info().key, 2, *wire::encode_to_bytes(request, 2));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *wire::decode_exactly<wire::UpdateFeaturesResponse>(2, *answer, wire::DecodeMode::LENIENT) : wire::UpdateFeaturesResponse{};
  }
  Survey survey() { return *survey_directory(files, node.directory); }

  io::MemoryFileSystem files;
  World world{11};
  TestNode node{world, files, {.static_voters = true}};
};

TEST_F(KRaftUpgrade, moves_the_voters_into_the_log_before_it_is_answered) {
  EXPECT_EQ(node.node().view().kraft_version, 0);
  const auto answer = update({{"kraft.version", 1}});
  EXPECT_EQ(answer.error_code, 0) << answer.error_message.value_or("");
  EXPECT_EQ(node.node().view().kraft_version, 1);
  // Answered, so committed: a power cut keeps it.
  node.kill();
  const Survey found = survey();
  EXPECT_EQ(found.kraft_version, 1);
  ASSERT_EQ(found.voters.size(), 1u);
  EXPECT_TRUE(found.voters.contains({NodeId{1}, node.directory_id}));
  ASSERT_TRUE(node.start());
  ASSERT_TRUE(node.run_until_active());
  EXPECT_EQ(node.node().view().kraft_version, 1);
}

TEST_F(KRaftUpgrade, that_is_only_asked_for_changes_nothing) {
  EXPECT_EQ(update({{"kraft.version", 1}}, true).error_code, 0);
  EXPECT_EQ(node.node().view().kraft_version, 0);
  EXPECT_EQ(survey().kraft_version, 0);
}

TEST_F(KRaftUpgrade, is_not_begun_when_another_update_of_the_request_is_refused) {
  EXPECT_NE(update({{"kraft.version", 1}, {"no.such.feature", 1}}).error_code, 0);
  EXPECT_NE(update({{"no.such.feature", 1}, {"kraft.version", 1}}).error_code, 0);
  world.run_for(std::chrono::seconds(1));
  EXPECT_EQ(node.node().view().kraft_version, 0);
  EXPECT_EQ(survey().kraft_version, 0);
}

TEST_F(KRaftUpgrade, cannot_be_taken_back_and_is_nothing_new_the_second_time) {
  EXPECT_EQ(update({{"kraft.version", 1}}).error_code, 0);
  EXPECT_EQ(update({{"kraft.version", 1}}).error_code, 0);
  EXPECT_NE(update({{"kraft.version", 0}}).error_code, 0);
  EXPECT_EQ(node.node().view().kraft_version, 1);
}

}  // namespace
}  // namespace castellan::quorum

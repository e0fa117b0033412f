// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/voter_standing.h"

#include <gtest/gtest.h>

namespace castellan::quorum {
namespace {

const DirectoryId here{Uuid{1, 1}}, elsewhere{Uuid{1, 2}};

raft::VoterSet voters(NodeId id, DirectoryId directory) { return raft::VoterSet({{.key = {id, directory}, .endpoints = {}, .kraft_version = {}}}); }

TEST(VoterStanding, follows_from_id_and_directory) {
  const raft::ReplicaKey self{NodeId{3}, here};
  EXPECT_EQ(standing_in({}, self), VoterStanding::unknown);
  EXPECT_EQ(standing_in(voters(NodeId{3}, here), self), VoterStanding::voter);
  EXPECT_EQ(standing_in(voters(NodeId{3}, {}), self), VoterStanding::voter);
  EXPECT_EQ(standing_in(voters(NodeId{3}, elsewhere), self), VoterStanding::other_directory);
  EXPECT_EQ(standing_in(voters(NodeId{4}, here), self), VoterStanding::none);
}

TEST(VoterStanding, what_is_wrong_is_told_with_the_way_out) {
  const raft::ReplicaKey self{NodeId{3}, here};
  EXPECT_EQ(standing_text(VoterStanding::unknown, VoterStanding::voter, voters(NodeId{3}, here), self), "");
  const std::string removed = standing_text(VoterStanding::voter, VoterStanding::none, voters(NodeId{4}, here), self);
  EXPECT_NE(removed.find("node 3 is no voter any more"), std::string::npos) << removed;
  EXPECT_NE(removed.find("add-controller"), std::string::npos) << removed;
  const std::string replaced = standing_text(VoterStanding::voter, VoterStanding::other_directory, voters(NodeId{3}, elsewhere), self);
  EXPECT_NE(replaced.find(fmt::format("remove-controller --controller-id 3 --controller-directory-id {}", elsewhere)), std::string::npos) << replaced;
}

}  // namespace
}  // namespace castellan::quorum

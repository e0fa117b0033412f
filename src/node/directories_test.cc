// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/directories.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "io/memory/memory_file_system.h"
#include "log/directory.h"
#include "log/meta_properties.h"

namespace castellan::node {
namespace {

struct TestEntropy : io::Entropy {
  uint64_t next() override { return 42; }
};

class DirectoriesTest : public testing::Test {
 protected:
  config::ServerConfig config(const std::string& log_dirs) {
    auto parsed = config::ServerConfig::parse({{"process.roles", "broker,controller"},
                                               {"node.id", "1"},
                                               {"listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"},
                                               {"controller.listener.names", "CONTROLLER"},
                                               {"controller.quorum.bootstrap.servers", "localhost:9093"},
                                               {"log.dirs", log_dirs}});
    CHECK(parsed.has_value(), "{}", parsed.error().message);
    return *parsed;
  }
  void format(const std::string& path, const std::string& cluster = "c", int32_t node = 1) {
    ASSERT_TRUE(files_.make_directories(path));
    ASSERT_TRUE(log::write_meta_properties(files_, path, {.version = 1, .cluster_id = cluster, .node_id = node, .directory_id = Uuid{7, 0x8000000000000007}}, now_));
  }
  Result<ClaimedDirectories> claim(const std::string& log_dirs) {
    auto parsed = config(log_dirs);
    return claim_directories(files_, entropy_, parsed, now_);
  }

  io::MemoryFileSystem files_;
  TestEntropy entropy_;
  WallTime now_{1'700'000'000'000};
};

TEST_F(DirectoriesTest, formatted_ones_are_claimed_with_their_cluster_and_id) {
  format("/a");
  const auto claimed = claim("/a");
  ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
  EXPECT_EQ(claimed->cluster_id, "c");
  EXPECT_EQ(claimed->metadata_directory_id.value, (Uuid{7, 0x8000000000000007}));
  EXPECT_TRUE(claimed->notes.empty());
}

TEST_F(DirectoriesTest, one_that_is_not_formatted_is_refused_with_the_way_out) {
  ASSERT_TRUE(files_.make_directories("/a"));
  for (const auto* path : {"/a", "/missing"}) {
    const auto claimed = claim(path);
    ASSERT_FALSE(claimed.has_value());
    EXPECT_NE(claimed.error().message.find(path), std::string::npos);
    EXPECT_NE(claimed.error().message.find("kafka-storage"), std::string::npos);
  }
  EXPECT_FALSE(files_.exists("/missing"));
}

TEST_F(DirectoriesTest, a_second_process_is_refused_and_has_written_nothing) {
  format("/a");
  format("/b");
  const auto first = claim("/a,/b");
  ASSERT_TRUE(first.has_value());
  const auto before = *files_.list("/b");
  const auto second = claim("/b,/a");
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find("another process"), std::string::npos);
  EXPECT_EQ(*files_.list("/b"), before);
}

TEST_F(DirectoriesTest, another_node_or_cluster_is_refused_by_name) {
  format("/a");
  format("/node", "c", 2);
  format("/cluster", "d");
  const auto node = claim("/a,/node");
  ASSERT_FALSE(node.has_value());
  EXPECT_NE(node.error().message.find("/node/meta.properties belongs to node 2"), std::string::npos) << node.error().message;
  const auto cluster = claim("/a,/cluster");
  ASSERT_FALSE(cluster.has_value());
  EXPECT_NE(cluster.error().message.find("cluster d"), std::string::npos) << cluster.error().message;
}

TEST_F(DirectoriesTest, a_directory_added_to_log_dirs_is_prepared) {
  format("/a");
  const auto claimed = claim("/a,/new");
  ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
  EXPECT_EQ(claimed->notes.size(), 1u);
  const auto properties = *log::read_meta_properties(files_, "/new");
  ASSERT_TRUE(properties.has_value());
  EXPECT_EQ(properties->cluster_id, "c");
  EXPECT_EQ(properties->node_id, 1);
  EXPECT_TRUE(properties->directory_id && !properties->directory_id->is_reserved());
}

TEST_F(DirectoriesTest, a_data_directory_that_cannot_be_used_is_noted_the_metadata_directory_refused) {
  format("/a");
  files_.fail_when([](io::MemoryFileSystem::Operation operation, const std::string& path) {
    return operation == io::MemoryFileSystem::Operation::lock && path.starts_with("/bad") ? std::optional(EACCES) : std::nullopt;
  });
  const auto claimed = claim("/a,/bad");
  ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
  ASSERT_EQ(claimed->notes.size(), 1u);
  EXPECT_NE(claimed->notes[0].find("/bad"), std::string::npos);
  EXPECT_FALSE(claim("/bad,/a").has_value());
}

}  // namespace
}  // namespace castellan::node

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <gtest/gtest.h>

#include <sstream>

#include "cli/quorum/describe.h"
#include "cli/quorum/new_controller.h"
#include "cli/tools.h"
#include "io/memory/memory_file_system.h"
#include "io/posix/posix_file_system.h"

namespace castellan::cli {
namespace {

wire::DescribeQuorumResponse three_voters() {
  wire::DescribeQuorumResponse quorum;
  auto& partition = quorum.topics.emplace_back().partitions.emplace_back();
  partition.leader_id = 2;
  partition.leader_epoch = 5;
  partition.high_watermark = 99;
  const auto replica = [](int32_t id, Uuid directory, int64_t end, int64_t fetched, int64_t caught_up) {
    wire::DescribeQuorumResponse::ReplicaState state;
    state.replica_id = id;
    state.replica_directory_id = directory;
    state.log_end_offset = end;
    state.last_fetch_timestamp = fetched;
    state.last_caught_up_timestamp = caught_up;
    return state;
  };
  const Uuid directory{0x4000, 0x8000'0000'0000'0000};
  partition.current_voters = {replica(1, directory, 90, 1'000, 900), replica(2, directory, 100, 2'000, 2'000)};
  partition.observers = {replica(7, Uuid{}, 100, -1, -1)};
  for (const int32_t id : {1, 2}) {
    auto& node = quorum.nodes.emplace_back();
    node.node_id = id;
    auto& listener = node.listeners.emplace_back();
    listener.name = "CONTROLLER";
    listener.host = id == 1 ? "::1" : "h";
    listener.port = 9093;
  }
  return quorum;
}

TEST(QuorumDescribe, status_is_eight_lines_in_kafkas_form) {
  EXPECT_EQ(*quorum_status("abc", three_voters()),
            "ClusterId:              abc\n"
            "LeaderId:               2\n"
            "LeaderEpoch:            5\n"
            "HighWatermark:          99\n"
            "MaxFollowerLag:         10\n"
            "MaxFollowerLagTimeMs:   1100\n"
            "CurrentVoters:          [{\"id\": 1, \"directoryId\": \"AAAAAAAAQACAAAAAAAAAAA\", \"endpoints\": [\"CONTROLLER://[::1]:9093\"]}, "
            "{\"id\": 2, \"directoryId\": \"AAAAAAAAQACAAAAAAAAAAA\", \"endpoints\": [\"CONTROLLER://h:9093\"]}]\n"
            "CurrentObservers:       [{\"id\": 7}]\n");
}

TEST(QuorumDescribe, replication_is_a_table_the_leader_first) {
  EXPECT_EQ(*quorum_replication(three_voters(), std::nullopt),
            "NodeId\tDirectoryId           \tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus  \t\n"
            "2     \tAAAAAAAAQACAAAAAAAAAAA\t100         \t0  \t2000              \t2000                 \tLeader  \t\n"
            "1     \tAAAAAAAAQACAAAAAAAAAAA\t90          \t10 \t1000              \t900                  \tFollower\t\n"
            "7     \tAAAAAAAAAAAAAAAAAAAAAA\t100         \t0  \t-1                \t-1                   \tObserver\t\n");
}

TEST(QuorumDescribe, times_for_people_are_distances_and_never_from_the_future) {
  const auto text = quorum_replication(three_voters(), WallTime{2'500});
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("1500 ms ago"), std::string::npos);
  EXPECT_NE(quorum_replication(three_voters(), WallTime{1'500}).error().message.find("drift"), std::string::npos);
}

TEST(QuorumDescribe, a_voter_change_under_way_and_a_voter_under_another_directory_id_are_told) {
  auto quorum = three_voters();
  quorum.topics[0].partitions[0].error_message = "Adding voter 3:AAAAAAAAQACAAAAAAAAAAA: it is being asked";
  auto text = *quorum_status("abc", quorum);
  EXPECT_TRUE(text.ends_with("\nVoterChange:            Adding voter 3:AAAAAAAAQACAAAAAAAAAAA: it is being asked\n")) << text;

  quorum.topics[0].partitions[0].error_message.reset();
  auto& observer = quorum.topics[0].partitions[0].observers[0];
  observer.replica_id = 1;
  observer.replica_directory_id = Uuid{0x4000, 0x8000'0000'0000'0001};
  observer.last_fetch_timestamp = 3'000;
  text = *quorum_status("abc", quorum);
  EXPECT_NE(text.find("Warning:                voter 1 is listed with directory id AAAAAAAAQACAAAAAAAAAAA, but node 1 has AAAAAAAAQACAAAAAAAAAAQ"), std::string::npos) << text;
  EXPECT_NE(text.find("CurrentObservers:       [{\"id\": 1, \"directoryId\": \"AAAAAAAAQACAAAAAAAAAAQ\"}]\n"), std::string::npos) << "no endpoints of the voter: " << text;
  // What fetched before the voter did is what the node was before.
  observer.last_fetch_timestamp = 500;
  EXPECT_EQ(quorum_status("abc", quorum)->find("Warning"), std::string::npos);
}

TEST(QuorumDescribe, a_leader_that_is_being_removed_is_described_while_it_leads) {
  auto quorum = three_voters();
  auto& partition = quorum.topics[0].partitions[0];
  partition.observers.push_back(partition.current_voters[1]);
  partition.current_voters.pop_back();
  EXPECT_TRUE(quorum_status("abc", quorum));
  const auto table = quorum_replication(quorum, std::nullopt);
  ASSERT_TRUE(table);
  EXPECT_EQ(std::ranges::count(*table, '\n'), 4) << *table;
}

TEST(QuorumDescribe, a_leader_that_is_no_voter_is_an_error) {
  auto quorum = three_voters();
  quorum.topics[0].partitions[0].leader_id = 9;
  EXPECT_FALSE(quorum_status("abc", quorum));
  EXPECT_FALSE(quorum_replication(quorum, std::nullopt));
  EXPECT_FALSE(quorum_status("abc", {}));
}

class Quorum : public testing::Test {
 protected:
  int run(std::vector<std::string> arguments) {
    auto clock = io::make_system_clock();
    auto entropy = io::make_system_entropy();
    Environment environment{files, *clock, *entropy, out, err};
    out.str(""), err.str("");
    return run_quorum(arguments, environment);
  }
  void expect_refusal(std::vector<std::string> arguments, std::string_view words) {
    EXPECT_EQ(run(std::move(arguments)), 1);
    EXPECT_NE(err.str().find(words), std::string::npos) << err.str();
  }
  void write_controller(const std::string& extra) {
    ASSERT_TRUE(files.make_directories("/c"));
    ASSERT_TRUE(files.replace_file("/c/c.properties", as_bytes("node.id=4\nprocess.roles=controller\nlisteners=CONTROLLER://:9093\n"
                                                               "controller.listener.names=CONTROLLER\nlog.dirs=/c/data,/c/other\n" + extra)));
  }

  io::MemoryFileSystem files;
  std::ostringstream out, err;
};

TEST_F(Quorum, mistakes_are_told_in_one_line) {
  expect_refusal({"describe", "--status"}, "--bootstrap-server --bootstrap-controller is required");
  expect_refusal({"--bootstrap-server", "h:1", "--bootstrap-controller", "h:1", "describe", "--status"}, "not allowed with");
  expect_refusal({"--bootstrap-server", "h:1", "describe"}, "One of --status or --replication must be specified");
  expect_refusal({"--bootstrap-server", "h:1", "describe", "--status", "--replication"}, "Only one of --status or --replication");
  expect_refusal({"--bootstrap-server", "h:1", "describe", "--status", "--human-readable"}, "only supported along with --replication");
  expect_refusal({"--bootstrap-server", "h:1", "--command-config", "/none", "describe", "--status"}, "Properties file /none does not exist.");
  expect_refusal({"--bootstrap-server", "h:1", "add-controller"}, "You must supply the configuration file");
  expect_refusal({"--bootstrap-server", "h:1", "remove-controller", "-i", "-3", "-d", "x"}, "negative");
  expect_refusal({"--bootstrap-server", "h:1", "remove-controller", "-i", "3", "-d", "x"}, "--controller-directory-id");
  expect_refusal({"--bootstrap-server", "h:1", "remove-controller", "-i", "3"}, "required");
}

TEST_F(Quorum, a_dry_run_says_what_would_be_done) {
  EXPECT_EQ(run({"--bootstrap-server", "h:1", "remove-controller", "-i", "3", "-d", "AAAAAAAAQACAAAAAAAAAAA", "--dry-run", "--unregister"}), 0) << err.str();
  EXPECT_EQ(out.str(), "DRY RUN of removing KRaft controller 3 with directory id AAAAAAAAQACAAAAAAAAAAA\nDRY RUN of unregistering KRaft controller 3\n");
  write_controller("advertised.listeners=CONTROLLER://host:9093\n");
  ASSERT_TRUE(files.make_directories("/c/data"));
  ASSERT_TRUE(files.replace_file("/c/data/meta.properties", as_bytes("version=1\ncluster.id=x\nnode.id=4\ndirectory.id=AAAAAAAAQACAAAAAAAAAAA\n")));
  EXPECT_EQ(run({"--bootstrap-controller", "h:1", "--command-config", "/c/c.properties", "add-controller", "--dry-run"}), 0) << err.str();
  EXPECT_EQ(out.str(), "DRY RUN of adding controller 4 with directory id AAAAAAAAQACAAAAAAAAAAA and endpoints: CONTROLLER://host:9093\n");
}

TEST_F(Quorum, a_file_that_is_not_a_controllers_is_refused) {
  const auto error = [&](config::ConfigMap properties) { return read_new_controller(properties, files).error().message; };
  EXPECT_NE(error({}).find("node.id not found"), std::string::npos);
  EXPECT_NE(error({{"node.id", "-4"}}).find("negative"), std::string::npos);
  EXPECT_NE(error({{"node.id", "4"}, {"process.roles", "broker"}}).find("process.roles"), std::string::npos);
  config::ConfigMap properties{{"node.id", "4"}, {"process.roles", "controller"}};
  EXPECT_NE(error(properties).find("metadata.log.dir"), std::string::npos);
  properties["log.dirs"] = "/none";
  EXPECT_NE(error(properties).find("Unable to read meta.properties from /none"), std::string::npos);
}

TEST_F(Quorum, recover_and_compare_refuse_what_they_cannot_look_at) {
  expect_refusal({"recover"}, "--config");
  expect_refusal({"recover", "--config", "/c", "--dry-run", "--yes"}, "not allowed with");
  expect_refusal({"recover", "--config", "/none.properties"}, "/none.properties does not exist");
  ASSERT_TRUE(files.make_directories("/b"));
  ASSERT_TRUE(files.replace_file("/b/b.properties", as_bytes("node.id=4\nprocess.roles=broker\nlisteners=PLAINTEXT://:9092\ncontroller.listener.names=CONTROLLER\n"
                                                             "controller.quorum.bootstrap.servers=h:1\nlog.dirs=/b/data\n")));
  expect_refusal({"recover", "--config", "/b/b.properties"}, "only a controller");
  write_controller("controller.quorum.bootstrap.servers=127.0.0.1:1\n");
  expect_refusal({"recover", "--config", "/c/c.properties"}, "/c/data does not exist");
  expect_refusal({"compare"}, "too few arguments");
  expect_refusal({"compare", "/none"}, "/none is no directory");
  expect_refusal({"compare", "/c"}, "no meta.properties");
}

TEST_F(Quorum, recover_and_compare_explain_themselves) {
  EXPECT_EQ(run({"recover", "--help"}), 0);
  EXPECT_NE(out.str().find("--dry-run"), std::string::npos);
  EXPECT_EQ(run({"compare", "--help"}), 0);
  EXPECT_NE(out.str().find("DIR..."), std::string::npos);
}

}  // namespace
}  // namespace castellan::cli

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What leaders, directories and operators change on partitions: AlterPartition, AssignReplicasToDirs, ElectLeaders,
// reassignments, and the elections that the controller begins by itself.

#include <gtest/gtest.h>

#include "controller/testing.h"
#include "wire/messages/alter_partition_reassignments_request.h"
#include "wire/messages/alter_partition_reassignments_response.h"
#include "wire/messages/assign_replicas_to_dirs_request.h"
#include "wire/messages/assign_replicas_to_dirs_response.h"
#include "wire/messages/elect_leaders_request.h"
#include "wire/messages/elect_leaders_response.h"
#include "wire/messages/list_partition_reassignments_request.h"
#include "wire/messages/list_partition_reassignments_response.h"

namespace castellan::controller {
namespace {

int16_t code(ErrorCode error) { return number(error); }

struct FourBrokers : TestCluster {
  explicit FourBrokers(image::FeatureLevels levels = {{"metadata.version", 33}}, const config::ConfigMap& more = {}) : TestCluster(std::move(levels), more) {
    for (int32_t id : {1, 2, 3, 4}) add_broker(id);
  }
  explicit FourBrokers(const config::ConfigMap& more) : FourBrokers({{"metadata.version", 33}}, more) {}
};

TEST(AlterPartition, TheLeaderShrinksAndGrowsTheIsr) {
  FourBrokers cluster;
  cluster.create_assigned("t", {{1, 2, 3}});
  auto answer = cluster.alter_isr("t", {1, 2});
  EXPECT_EQ(answer.error_code, 0);
  EXPECT_EQ(answer.isr, (Ids{1, 2}));
  EXPECT_EQ(answer.partition_epoch, 1);
  EXPECT_EQ(answer.leader_id, 1);
  EXPECT_EQ(ids(cluster.partition("t").isr()), (Ids{1, 2}));
  answer = cluster.alter_isr("t", {1, 2, 3});
  EXPECT_EQ(answer.partition_epoch, 2);
  answer = cluster.alter_isr("t", {1, 2, 3});
  EXPECT_EQ(answer.partition_epoch, 2) << "no change, no record";
  EXPECT_TRUE(cluster.last.records.empty());
}

TEST(AlterPartition, RefusalsComeInKafkasOrder) {
  FourBrokers cluster;
  const Uuid topic = cluster.create_assigned("t", {{1, 2}}).topic_id;
  wire::AlterPartitionRequest good;
  good.broker_id = 1;
  good.broker_epoch = cluster.image.cluster.broker(NodeId{1})->epoch.value;
  auto& data = good.topics.emplace_back();
  data.topic_id = topic;
  auto& partition = data.partitions.emplace_back();
  partition.new_isr_with_epochs.emplace_back().broker_id = 1;
  const auto refused = [&](auto&& change) {
    wire::AlterPartitionRequest request = good;
    change(request, request.topics[0].partitions[0]);
    const auto response = cluster.call<wire::AlterPartitionResponse>(request);
    EXPECT_TRUE(cluster.last.records.empty());
    return response.error_code != 0 ? response.error_code : response.topics.at(0).partitions.at(0).error_code;
  };
  EXPECT_EQ(refused([](auto& r, auto&) { ++r.broker_epoch; }), code(ErrorCode::STALE_BROKER_EPOCH));
  EXPECT_EQ(refused([](auto& r, auto&) { r.topics[0].topic_id = Uuid{9, 9}; }), code(ErrorCode::UNKNOWN_TOPIC_ID));
  EXPECT_EQ(refused([](auto&, auto& p) { p.partition_index = 7; }), code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(refused([](auto&, auto& p) { p.leader_epoch = 1; }), code(ErrorCode::NOT_CONTROLLER));
  EXPECT_EQ(refused([](auto&, auto& p) { p.partition_epoch = 1; }), code(ErrorCode::NOT_CONTROLLER));
  EXPECT_EQ(refused([](auto&, auto& p) { p.leader_epoch = -1; }), code(ErrorCode::FENCED_LEADER_EPOCH));
  EXPECT_EQ(refused([&](auto& r, auto&) {
    r.broker_id = 2;
    r.broker_epoch = cluster.image.cluster.broker(NodeId{2})->epoch.value;
  }), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(refused([](auto&, auto& p) { p.partition_epoch = -1; }), code(ErrorCode::INVALID_UPDATE_VERSION));
  EXPECT_EQ(refused([](auto&, auto& p) { p.new_isr_with_epochs[0].broker_id = 2; }), code(ErrorCode::INVALID_REQUEST)) << "without the leader";
  EXPECT_EQ(refused([](auto&, auto& p) { p.new_isr_with_epochs.emplace_back().broker_id = 4; }), code(ErrorCode::INVALID_REQUEST)) << "no replica";
  EXPECT_EQ(refused([](auto&, auto& p) { p.new_isr_with_epochs.emplace_back().broker_id = 1; }), code(ErrorCode::INVALID_REQUEST)) << "twice";
  EXPECT_EQ(refused([](auto&, auto& p) { p.leader_recovery_state = 1; }), code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(refused([](auto&, auto& p) { p.leader_recovery_state = 9; }), code(ErrorCode::INVALID_REQUEST));
  cluster.fence(2);
  cluster.alter_isr("t", {1});
  partition.partition_epoch = cluster.partition("t").partition_epoch();
  EXPECT_EQ(refused([](auto&, auto& p) { p.new_isr_with_epochs.emplace_back().broker_id = 2; }), code(ErrorCode::INELIGIBLE_REPLICA)) << "fenced";
  cluster.unfence(2);
  EXPECT_EQ(refused([](auto&, auto& p) {
    p.new_isr_with_epochs.emplace_back().broker_id = 2;
    p.new_isr_with_epochs.back().broker_epoch = 1;
  }), code(ErrorCode::INELIGIBLE_REPLICA)) << "another epoch";
  partition.new_isr = {1, 2};
  EXPECT_EQ(cluster.call<wire::AlterPartitionResponse>(good, 2).topics[0].partitions[0].error_code, 0) << "version 2 has no epochs";
}

TEST(AssignReplicasToDirs, TakesWhatTheBrokerSaysAndMovesLeadersOutOfLostOnes) {
  FourBrokers cluster;
  const Uuid topic = cluster.create_assigned("t", {{1, 2}, {1, 2}}).topic_id;
  wire::AssignReplicasToDirsRequest request;
  request.broker_id = 1;
  request.broker_epoch = cluster.image.cluster.broker(NodeId{1})->epoch.value;
  const auto assign = [&](const Uuid& directory, const Uuid& topic_id, int32_t index) {
    auto& dir = request.directories.emplace_back();
    dir.id = directory;
    auto& of_topic = dir.topics.emplace_back();
    of_topic.topic_id = topic_id;
    of_topic.partitions.emplace_back().partition_index = index;
  };
  assign(directory_lost.value, topic, 0);
  assign(Uuid{1000, 1}, topic, 1);
  assign(Uuid{1000, 1}, topic, 5);
  assign(Uuid{1000, 1}, Uuid{9, 9}, 0);
  const auto response = cluster.call<wire::AssignReplicasToDirsResponse>(request);
  std::vector<int16_t> codes;
  for (const auto& dir : response.directories) codes.push_back(dir.topics[0].partitions[0].error_code);
  EXPECT_EQ(codes, (std::vector<int16_t>{0, 0, 3, 100}));
  EXPECT_EQ(names(cluster.last.records), (Names{"PartitionChangeRecord", "PartitionChangeRecord"})) << "the directory, then the leader";
  EXPECT_EQ(cluster.partition("t", 0).leader(), NodeId{2});
  EXPECT_EQ(cluster.partition("t", 0).directory(0), directory_lost);
  EXPECT_EQ(cluster.partition("t", 1).leader(), NodeId{1});
  request.broker_epoch = 0;
  EXPECT_EQ(cluster.call<wire::AssignReplicasToDirsResponse>(request).error_code, code(ErrorCode::STALE_BROKER_EPOCH));
  request.broker_id = 3;
  request.broker_epoch = cluster.image.cluster.broker(NodeId{3})->epoch.value;
  EXPECT_EQ(cluster.call<wire::AssignReplicasToDirsResponse>(request).directories[0].topics[0].partitions[0].error_code, code(ErrorCode::NOT_LEADER_OR_FOLLOWER));
  TestCluster old({{"metadata.version", 16}});
  EXPECT_EQ(old.call<wire::AssignReplicasToDirsResponse>(request).error_code, code(ErrorCode::UNSUPPORTED_VERSION));
}

wire::ElectLeadersRequest election_of(int8_t type, const std::string& topic, std::vector<int32_t> partitions) {
  wire::ElectLeadersRequest request;
  request.election_type = type;
  auto& asked = request.topic_partitions->emplace_back();
  asked.topic = topic;
  asked.partitions = std::move(partitions);
  return request;
}

TEST(ElectLeaders, ThePreferredLeaderComesBack) {
  FourBrokers cluster;
  cluster.create_assigned("t", {{1, 2}, {2, 1}});
  cluster.fence(1);
  cluster.unfence(1);
  EXPECT_EQ(cluster.partition("t").leader(), NodeId{2});
  EXPECT_EQ(cluster.call<wire::ElectLeadersResponse>(election_of(0, "t", {0})).replica_election_results[0].partition_result[0].error_code,
            code(ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE)) << "not in sync yet";
  cluster.alter_isr("t", {2, 1});
  const auto result = cluster.call<wire::ElectLeadersResponse>(election_of(0, "t", {0, 1, 9})).replica_election_results[0].partition_result;
  EXPECT_EQ(result[0].error_code, 0);
  EXPECT_EQ(result[1].error_code, code(ErrorCode::ELECTION_NOT_NEEDED));
  EXPECT_EQ(result[2].error_code, code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(cluster.partition("t").leader(), NodeId{1});
}

TEST(ElectLeaders, AllPartitionsLeaveOutWhatNeedsNone) {
  FourBrokers cluster;
  cluster.create_assigned("t", {{1, 2}, {2, 1}});
  wire::ElectLeadersRequest all;
  all.topic_partitions.reset();
  EXPECT_TRUE(cluster.call<wire::ElectLeadersResponse>(all).replica_election_results[0].partition_result.empty());
  EXPECT_EQ(cluster.call<wire::ElectLeadersResponse>(election_of(5, "t", {0})).error_code, code(ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(cluster.call<wire::ElectLeadersResponse>(election_of(0, "none", {0})).replica_election_results[0].partition_result[0].error_code,
            code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

TEST(ElectLeaders, AnUncleanOneOnlyWhenAskedFor) {
  FourBrokers cluster;
  cluster.create_assigned("t", {{1, 2}});
  cluster.fence(2);
  cluster.fence(1);
  EXPECT_EQ(cluster.call<wire::ElectLeadersResponse>(election_of(1, "t", {0})).replica_election_results[0].partition_result[0].error_code,
            code(ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE));
  cluster.unfence(2);
  EXPECT_EQ(cluster.partition("t").leader(), no_node);
  EXPECT_EQ(cluster.call<wire::ElectLeadersResponse>(election_of(1, "t", {0})).replica_election_results[0].partition_result[0].error_code, 0);
  EXPECT_EQ(cluster.partition("t").leader(), NodeId{2});
  EXPECT_EQ(cluster.partition("t").recovery(), image::LeaderRecoveryState::RECOVERING);
  const auto recovered = cluster.alter_isr("t", {2});
  EXPECT_EQ(recovered.error_code, 0);
  EXPECT_EQ(recovered.leader_recovery_state, 0);
}

TEST(PeriodicElections, LeadersReturnToTheirPlaceAndUncleanOnesAreMade) {
  FourBrokers cluster(config::ConfigMap{{"metadata.max.idle.interval.ms", "0"}, {"leader.imbalance.check.interval.seconds", "1"},
                                        {"unclean.leader.election.interval.ms", "1000"}});
  cluster.create_assigned("balanced", {{1, 2}});
  cluster.create_assigned("clean", {{3}});
  cluster.create_topic("unclean", -1, -1, {{3, 4}}, {{"unclean.leader.election.enable", "true"}});
  cluster.fence(1);
  cluster.unfence(1);
  cluster.alter_isr("balanced", {2, 1});
  cluster.fence(4);
  cluster.fence(3);
  EXPECT_EQ(cluster.partition("unclean").leader(), no_node);
  cluster.unfence(4);
  EXPECT_EQ(cluster.partition("unclean").leader(), NodeId{4}) << "already when a broker comes back";
  cluster.advance(std::chrono::milliseconds(1001));
  EXPECT_EQ(names(cluster.tick()), (Names{"PartitionChangeRecord"}));
  EXPECT_EQ(cluster.partition("balanced").leader(), NodeId{1});
  EXPECT_EQ(cluster.partition("clean").leader(), no_node);
  wire::ConfigRecord enable;
  enable.resource_type = 4;
  enable.name = "unclean.leader.election.enable";
  enable.value = "true";
  cluster.apply({.version = 0, .message = enable});
  cluster.alter_isr("unclean", {4});
  cluster.advance(std::chrono::milliseconds(1001));
  EXPECT_TRUE(cluster.tick().empty()) << "nobody of `clean` is alive";
}

TEST(PeriodicElections, AnIdleControllerWritesAnEmptyRecord) {
  TestCluster cluster;
  cluster.advance(std::chrono::milliseconds(499));
  EXPECT_TRUE(cluster.tick().empty());
  cluster.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(names(cluster.tick()), (Names{"NoOpRecord"}));
}

wire::AlterPartitionReassignmentsRequest reassignment_of(const std::string& topic, std::optional<std::vector<int32_t>> replicas) {
  wire::AlterPartitionReassignmentsRequest request;
  auto& asked = request.topics.emplace_back();
  asked.name = topic;
  asked.partitions.emplace_back().replicas = std::move(replicas);
  return request;
}

TEST(Reassignments, MoveAPartitionAndCanBeCancelled) {
  FourBrokers cluster;
  cluster.create_assigned("t", {{1, 2}});
  const auto ask = [&](std::optional<std::vector<int32_t>> replicas) {
    return cluster.call<wire::AlterPartitionReassignmentsResponse>(reassignment_of("t", std::move(replicas))).responses[0].partitions[0].error_code;
  };
  EXPECT_EQ(ask(std::nullopt), code(ErrorCode::NO_REASSIGNMENT_IN_PROGRESS));
  EXPECT_EQ(ask(Ids{3, 2}), 0);
  EXPECT_EQ(ids(cluster.partition("t").replicas()), (Ids{3, 2, 1}));
  wire::ListPartitionReassignmentsRequest list;
  auto listed = cluster.call<wire::ListPartitionReassignmentsResponse>(list);
  ASSERT_EQ(listed.topics.size(), 1u);
  EXPECT_EQ(listed.topics[0].partitions[0].adding_replicas, (Ids{3}));
  EXPECT_EQ(listed.topics[0].partitions[0].removing_replicas, (Ids{1}));
  EXPECT_EQ(ask(std::nullopt), 0);
  EXPECT_EQ(ids(cluster.partition("t").replicas()), (Ids{2, 1}));
  EXPECT_TRUE(cluster.call<wire::ListPartitionReassignmentsResponse>(list).topics.empty());

  EXPECT_EQ(ask(Ids{3, 4}), 0);
  EXPECT_EQ(cluster.alter_isr("t", {1, 2, 3, 4}).error_code, code(ErrorCode::NEW_LEADER_ELECTED)) << "completed, and another leads";
  EXPECT_EQ(ids(cluster.partition("t").replicas()), (Ids{3, 4}));
  EXPECT_EQ(ids(cluster.partition("t").isr()), (Ids{3, 4}));
  EXPECT_FALSE(cluster.partition("t").is_reassigning());
}

TEST(Reassignments, RefusalsHaveTheirCodes) {
  FourBrokers cluster;
  cluster.create_assigned("t", {{1, 2}});
  const auto refused = [&](wire::AlterPartitionReassignmentsRequest request) {
    const auto response = cluster.call<wire::AlterPartitionReassignmentsResponse>(std::move(request));
    EXPECT_TRUE(cluster.last.records.empty());
    return response.responses[0].partitions[0].error_code;
  };
  EXPECT_EQ(refused(reassignment_of("none", Ids{1})), code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  auto no_partition = reassignment_of("t", Ids{1});
  no_partition.topics[0].partitions[0].partition_index = 3;
  EXPECT_EQ(refused(no_partition), code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_EQ(refused(reassignment_of("t", Ids{})), code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
  EXPECT_EQ(refused(reassignment_of("t", Ids{1, 9})), code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
  auto factor = reassignment_of("t", Ids{1, 2, 3});
  factor.allow_replication_factor_change = false;
  EXPECT_EQ(refused(factor), code(ErrorCode::INVALID_REPLICATION_FACTOR));
  EXPECT_EQ(refused(reassignment_of("t", Ids{1, 2})), 0) << "as it is already";
}

TEST(EligibleLeaderReplicas, SurviveFencingAndLeadAgain) {
  FourBrokers cluster({{"metadata.version", 33}, {"eligible.leader.replicas.version", 1}});
  cluster.create_topic("t", -1, -1, {{1, 2, 3}}, {{"min.insync.replicas", "2"}});
  cluster.fence(2);
  cluster.fence(3);
  EXPECT_EQ(ids(cluster.partition("t").elr()), (Ids{3})) << "below the minimum only from the second on";
  cluster.fence(1);
  EXPECT_TRUE(cluster.partition("t").isr().empty());
  EXPECT_EQ(ids(cluster.partition("t").elr()), (Ids{1, 3}));
  EXPECT_EQ(ids(cluster.partition("t").last_known_elr()), (Ids{1}));
  auto restarted = TestCluster::registration_of(3, 2);
  cluster.advance(std::chrono::milliseconds(9001));
  cluster.register_broker(restarted);
  EXPECT_EQ(ids(cluster.partition("t").elr()), (Ids{1})) << "an unclean restart ends eligibility";
  auto clean = TestCluster::registration_of(1, 2);
  clean.previous_broker_epoch = cluster.image.cluster.broker(NodeId{1})->epoch.value;
  cluster.register_broker(clean);
  EXPECT_EQ(ids(cluster.partition("t").elr()), (Ids{1})) << "a clean one does not";
  cluster.unfence(3);
  EXPECT_EQ(cluster.partition("t").leader(), no_node);
  cluster.unfence(1);
  EXPECT_EQ(cluster.partition("t").leader(), NodeId{1});
  EXPECT_EQ(cluster.partition("t").recovery(), image::LeaderRecoveryState::RECOVERED);
  EXPECT_TRUE(cluster.partition("t").last_known_elr().empty());
}

}  // namespace
}  // namespace castellan::controller

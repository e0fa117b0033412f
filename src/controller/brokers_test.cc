// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/brokers.h"

#include <gtest/gtest.h>

#include "controller/testing.h"
#include "wire/messages/controller_registration_request.h"
#include "wire/messages/controller_registration_response.h"
#include "wire/messages/unregister_broker_request.h"
#include "wire/messages/unregister_broker_response.h"
#include "wire/messages/unregister_controller_request.h"
#include "wire/messages/unregister_controller_response.h"

namespace castellan::controller {
namespace {

int16_t code(ErrorCode error) { return number(error); }

TEST(RegisterBroker, TheEpochIsTheOffsetOfTheRecord) {
  TestCluster cluster;
  const auto response = cluster.register_broker(TestCluster::registration_of(1));
  EXPECT_EQ(response.error_code, 0);
  EXPECT_EQ(response.broker_epoch, cluster.image.last_offset.value);
  EXPECT_EQ(*cluster.image.cluster.registration_offsets.find(NodeId{1}), cluster.image.last_offset);
  EXPECT_TRUE(cluster.image.cluster.broker(NodeId{1})->fenced);
  EXPECT_EQ(cluster.last.records.at(0).version, 4);
}

TEST(RegisterBroker, RefusalsHaveTheirCodes) {
  TestCluster cluster;
  cluster.add_broker(2);
  const auto refused = [&](auto&& change) {
    auto request = TestCluster::registration_of(1);
    change(request);
    const auto response = cluster.register_broker(request);
    EXPECT_TRUE(cluster.last.records.empty());
    EXPECT_EQ(response.broker_epoch, -1);
    return response.error_code;
  };
  EXPECT_EQ(refused([](auto& r) { r.cluster_id = "other"; }), code(ErrorCode::INCONSISTENT_CLUSTER_ID));
  EXPECT_EQ(refused([](auto& r) { r.is_migrating_zk_broker = true; }), code(ErrorCode::BROKER_ID_NOT_REGISTERED));
  EXPECT_EQ(refused([](auto& r) { r.log_dirs.clear(); }), code(ErrorCode::INVALID_REGISTRATION));
  EXPECT_EQ(refused([](auto& r) { r.log_dirs = {Uuid{0, 1}}; }), code(ErrorCode::INVALID_REGISTRATION));
  EXPECT_EQ(refused([](auto& r) { r.log_dirs.push_back(r.log_dirs[0]); }), code(ErrorCode::INVALID_REGISTRATION));
  EXPECT_EQ(refused([](auto& r) { r.log_dirs = {Uuid{1000, 2}}; }), code(ErrorCode::INVALID_REGISTRATION)) << "broker 2 has it";
  EXPECT_EQ(refused([](auto& r) { r.listeners[0].security_protocol = 9; }), code(ErrorCode::INVALID_REGISTRATION));
  EXPECT_EQ(refused([](auto& r) { std::erase_if(r.features, [](auto& f) { return f.name == "metadata.version"; }); }), code(ErrorCode::INVALID_REGISTRATION));
  EXPECT_EQ(refused([](auto& r) { for (auto& f : r.features) if (f.name == "metadata.version") f.max_supported_version = 32; }), code(ErrorCode::UNSUPPORTED_VERSION));
  EXPECT_EQ(refused([](auto& r) { std::erase_if(r.features, [](auto& f) { return f.name == "kraft.version"; }); }), code(ErrorCode::UNSUPPORTED_VERSION)) << "finalized at 1";
}

TEST(RegisterBroker, AnotherIncarnationWaitsForTheSessionToRunOut) {
  TestCluster cluster;
  cluster.add_broker(1);
  EXPECT_EQ(cluster.register_broker(TestCluster::registration_of(1, 2)).error_code, code(ErrorCode::DUPLICATE_BROKER_REGISTRATION));
  cluster.advance(std::chrono::milliseconds(9001));
  EXPECT_EQ(cluster.register_broker(TestCluster::registration_of(1, 2)).error_code, 0);
}

TEST(RegisterBroker, ThisProcessOwnBrokerNeedNotWait) {
  TestCluster cluster;
  cluster.add_broker(100);
  cluster.from_this_process = true;
  EXPECT_EQ(cluster.register_broker(TestCluster::registration_of(100, 2)).error_code, 0);
  cluster.add_broker(7);
  EXPECT_EQ(cluster.register_broker(TestCluster::registration_of(7, 2)).error_code, code(ErrorCode::DUPLICATE_BROKER_REGISTRATION));
}

TEST(RegisterBroker, TheSameIncarnationKeepsEpochAndState) {
  TestCluster cluster;
  cluster.add_broker(1);
  const auto epoch = cluster.image.cluster.broker(NodeId{1})->epoch;
  auto again = TestCluster::registration_of(1);
  again.log_dirs.push_back(Uuid{1000, 77});
  EXPECT_EQ(cluster.register_broker(again).broker_epoch, epoch.value);
  EXPECT_FALSE(cluster.image.cluster.broker(NodeId{1})->fenced);
  EXPECT_EQ(cluster.image.cluster.broker(NodeId{1})->log_dirs.size(), 2u);
  EXPECT_FALSE(cluster.heartbeat(cluster.heartbeat_of(1)).is_fenced);
}

TEST(RegisterBroker, ANewIncarnationLeavesTheIsrOfItsPartitionsFirst) {
  TestCluster cluster;
  cluster.add_broker(1);
  cluster.add_broker(2);
  cluster.create_assigned("t", {{1, 2}});
  cluster.advance(std::chrono::milliseconds(9001));
  cluster.heartbeat(cluster.heartbeat_of(2));
  cluster.register_broker(TestCluster::registration_of(1, 2));
  EXPECT_EQ(names(cluster.last.records), (Names{"PartitionChangeRecord", "RegisterBrokerRecord"}));
  EXPECT_EQ(cluster.partition("t").leader(), NodeId{2});
  EXPECT_EQ(ids(cluster.partition("t").isr()), (Ids{2}));
  EXPECT_EQ(cluster.image.cluster.broker(NodeId{1})->epoch.value + 1, cluster.image.last_offset.value);
}

TEST(Heartbeat, ABrokerIsUnfencedWhenItHasReadItsRegistration) {
  TestCluster cluster;
  cluster.register_broker(TestCluster::registration_of(1));
  auto request = cluster.heartbeat_of(1);
  request.current_metadata_offset -= 1;
  auto response = cluster.heartbeat(request);
  EXPECT_FALSE(response.is_caught_up);
  EXPECT_TRUE(response.is_fenced);
  request.current_metadata_offset += 1;
  request.want_fence = true;
  response = cluster.heartbeat(request);
  EXPECT_TRUE(response.is_caught_up);
  EXPECT_TRUE(response.is_fenced);
  EXPECT_TRUE(cluster.last.records.empty());
  request.want_fence = false;
  EXPECT_FALSE(cluster.heartbeat(request).is_fenced);
  EXPECT_EQ(names(cluster.last.records), (Names{"BrokerRegistrationChangeRecord"}));
  EXPECT_TRUE(cluster.heartbeat(request).error_code == 0 && cluster.last.records.empty());
}

TEST(Heartbeat, AnUnknownBrokerOrEpochIsStale) {
  TestCluster cluster;
  EXPECT_EQ(cluster.heartbeat(cluster.heartbeat_of(9)).error_code, code(ErrorCode::STALE_BROKER_EPOCH));
  cluster.add_broker(1);
  auto request = cluster.heartbeat_of(1);
  --request.broker_epoch;
  const auto response = cluster.heartbeat(request);
  EXPECT_EQ(response.error_code, code(ErrorCode::STALE_BROKER_EPOCH));
  EXPECT_TRUE(response.is_fenced);
}

TEST(Heartbeat, UnfencingElectsLeadersForLeaderlessPartitions) {
  TestCluster cluster;
  cluster.add_broker(1);
  cluster.create_assigned("t", {{1}});
  cluster.fence(1);
  EXPECT_EQ(names(cluster.last.records), (Names{"PartitionChangeRecord", "BrokerRegistrationChangeRecord"}));
  EXPECT_EQ(cluster.partition("t").leader(), no_node);
  EXPECT_EQ(ids(cluster.partition("t").isr()), (Ids{1})) << "without ELR the last member stays";
  cluster.unfence(1);
  EXPECT_EQ(names(cluster.last.records), (Names{"BrokerRegistrationChangeRecord", "PartitionChangeRecord"}));
  EXPECT_EQ(cluster.partition("t").leader(), NodeId{1});
  EXPECT_EQ(cluster.partition("t").leader_epoch(), Epoch{2});
}

TEST(ControlledShutdown, ABrokerGoesWhenTheOthersHaveReadWhereItsPartitionsWent) {
  TestCluster cluster;
  cluster.add_broker(1);
  cluster.add_broker(2);
  cluster.create_assigned("t", {{1, 2}});
  auto request = cluster.heartbeat_of(1);
  request.want_shut_down = true;
  auto response = cluster.heartbeat(request);
  EXPECT_FALSE(response.should_shut_down);
  EXPECT_FALSE(response.is_fenced);
  EXPECT_EQ(names(cluster.last.records), (Names{"BrokerRegistrationChangeRecord", "PartitionChangeRecord"}));
  EXPECT_EQ(cluster.last.records[0].version, 1);
  EXPECT_EQ(cluster.partition("t").leader(), NodeId{2});
  EXPECT_TRUE(cluster.image.cluster.broker(NodeId{1})->in_controlled_shutdown);
  const Offset moved = cluster.image.last_offset;

  EXPECT_FALSE(cluster.heartbeat(request).should_shut_down) << "broker 2 has not read that it leads";
  auto other = cluster.heartbeat_of(2);
  other.current_metadata_offset = moved.value - 1;
  cluster.heartbeat(other);
  EXPECT_FALSE(cluster.heartbeat(request).should_shut_down);
  other.current_metadata_offset = moved.value;
  cluster.heartbeat(other);
  response = cluster.heartbeat(request);
  EXPECT_TRUE(response.should_shut_down);
  EXPECT_TRUE(cluster.image.cluster.broker(NodeId{1})->fenced);
  EXPECT_EQ(cluster.register_broker(TestCluster::registration_of(1, 2)).error_code, 0) << "who was told to go is gone";
}

TEST(ControlledShutdown, WhoLeadsNothingMayGoAtOnce) {
  TestCluster cluster;
  cluster.add_broker(1);
  auto request = cluster.heartbeat_of(1);
  request.want_shut_down = true;
  EXPECT_TRUE(cluster.heartbeat(request).should_shut_down);
}

TEST(Sessions, ABrokerThatIsSilentIsFenced) {
  TestCluster cluster({{"metadata.version", 33}}, {{"metadata.max.idle.interval.ms", "0"}});
  cluster.add_broker(1);
  cluster.add_broker(2);
  cluster.create_assigned("t", {{1, 2}});
  cluster.advance(std::chrono::milliseconds(8000));
  cluster.heartbeat(cluster.heartbeat_of(2));
  EXPECT_TRUE(cluster.tick().empty());
  cluster.advance(std::chrono::milliseconds(1001));
  EXPECT_LE(cluster.controller.next_deadline(), cluster.now.monotonic);
  EXPECT_EQ(names(cluster.tick()), (Names{"PartitionChangeRecord", "BrokerRegistrationChangeRecord"}));
  EXPECT_TRUE(cluster.image.cluster.broker(NodeId{1})->fenced);
  EXPECT_FALSE(cluster.image.cluster.broker(NodeId{2})->fenced);
  EXPECT_EQ(cluster.partition("t").leader(), NodeId{2});
}

TEST(Sessions, AHeartbeatThatWaitsInAQueueKeepsItsBroker) {
  TestCluster cluster;
  cluster.add_broker(1);
  cluster.advance(std::chrono::milliseconds(9001));
  cluster.controller.touch_session(NodeId{1}, cluster.image.cluster.broker(NodeId{1})->epoch, cluster.now.monotonic);
  cluster.tick();
  EXPECT_FALSE(cluster.image.cluster.broker(NodeId{1})->fenced);
}

TEST(Sessions, AfterAFailoverUnfencedBrokersGetAWholeSession) {
  TestCluster cluster;
  cluster.add_broker(1);
  cluster.register_broker(TestCluster::registration_of(2));
  cluster.controller.renounce();
  EXPECT_EQ(cluster.heartbeat(cluster.heartbeat_of(1)).error_code, code(ErrorCode::NOT_CONTROLLER));
  EXPECT_EQ(cluster.controller.next_deadline(), MonotonicTime::never());
  cluster.advance(std::chrono::milliseconds(60000));
  cluster.controller.claim(cluster.image, cluster.now.monotonic);
  cluster.advance(std::chrono::milliseconds(8000));
  cluster.tick();
  EXPECT_FALSE(cluster.image.cluster.broker(NodeId{1})->fenced);
  EXPECT_EQ(cluster.register_broker(TestCluster::registration_of(2, 2)).error_code, 0) << "a fenced broker has no session";
  cluster.advance(std::chrono::milliseconds(2000));
  cluster.tick();
  EXPECT_TRUE(cluster.image.cluster.broker(NodeId{1})->fenced);
}

TEST(Directories, AnOfflineDirectoryMovesItsLeadersAway) {
  TestCluster cluster;
  auto two_dirs = TestCluster::registration_of(1);
  two_dirs.log_dirs = {Uuid{50, 1}, Uuid{50, 2}};
  cluster.register_broker(two_dirs);
  cluster.unfence(1);
  cluster.add_broker(2);
  cluster.create_assigned("t", {{1, 2}});
  EXPECT_EQ(cluster.partition("t").directory(0), directory_unassigned);
  auto request = cluster.heartbeat_of(1);
  request.offline_log_dirs = {Uuid{50, 1}, Uuid{99, 9}};
  cluster.heartbeat(request);
  ASSERT_EQ(names(cluster.last.records), (Names{"BrokerRegistrationChangeRecord"})) << "nothing is in it yet";
  EXPECT_EQ(cluster.last.records[0].version, 2);
  EXPECT_EQ(cluster.image.cluster.broker(NodeId{1})->log_dirs, std::vector<DirectoryId>{DirectoryId(Uuid(50, 2))});
  cluster.heartbeat(request);
  EXPECT_TRUE(cluster.last.records.empty());
}

TEST(Directories, CordonedOnesAreRecordedWhenTheyChange) {
  TestCluster cluster;
  cluster.add_broker(1);
  auto request = cluster.heartbeat_of(1);
  request.cordoned_log_dirs.emplace({Uuid{1000, 1}});
  cluster.heartbeat(request);
  ASSERT_EQ(names(cluster.last.records), (Names{"BrokerRegistrationChangeRecord"}));
  EXPECT_EQ(cluster.last.records[0].version, 3);
  cluster.heartbeat(request);
  EXPECT_TRUE(cluster.last.records.empty());
  EXPECT_EQ(cluster.create_topic("t", 1, 1).error_code, code(ErrorCode::INVALID_REPLICATION_FACTOR));
  EXPECT_EQ(cluster.create_assigned("t", {{1}}).error_code, code(ErrorCode::INVALID_REPLICA_ASSIGNMENT));
  request.cordoned_log_dirs->clear();
  cluster.heartbeat(request);
  EXPECT_EQ(cluster.last.records.size(), 1u);
  EXPECT_EQ(cluster.create_topic("t", 1, 1).error_code, 0);
}

TEST(Unregister, ABrokerLeavesItsPartitionsFirst) {
  TestCluster cluster;
  cluster.add_broker(1);
  cluster.add_broker(2);
  cluster.create_assigned("t", {{1, 2}});
  wire::UnregisterBrokerRequest request;
  request.broker_id = 1;
  EXPECT_EQ(cluster.call<wire::UnregisterBrokerResponse>(request).error_code, 0);
  EXPECT_EQ(names(cluster.last.records), (Names{"PartitionChangeRecord", "UnregisterBrokerRecord"}));
  EXPECT_EQ(cluster.call<wire::UnregisterBrokerResponse>(request).error_code, code(ErrorCode::BROKER_ID_NOT_REGISTERED));
}

TEST(Controllers, RegisterAndUnregister) {
  TestCluster cluster;
  wire::ControllerRegistrationRequest request;
  request.controller_id = 101;
  request.listeners.emplace_back().name = "CONTROLLER";
  EXPECT_EQ(cluster.call<wire::ControllerRegistrationResponse>(request).error_code, 0);
  EXPECT_NE(cluster.image.cluster.controller(NodeId{101}), nullptr);
  request.listeners[0].security_protocol = 44;
  EXPECT_NE(cluster.call<wire::ControllerRegistrationResponse>(request).error_code, 0);
  wire::UnregisterControllerRequest leave;
  leave.controller_id = 100;
  EXPECT_EQ(cluster.call<wire::UnregisterControllerResponse>(leave).error_code, code(ErrorCode::INVALID_REQUEST)) << "a voter";
  leave.controller_id = 101;
  EXPECT_EQ(cluster.call<wire::UnregisterControllerResponse>(leave).error_code, 0);
  EXPECT_EQ(cluster.call<wire::UnregisterControllerResponse>(leave).error_code, code(ErrorCode::CONTROLLER_ID_NOT_REGISTERED));
  TestCluster old({{"metadata.version", 14}});
  EXPECT_EQ(old.call<wire::ControllerRegistrationResponse>(request).error_code, code(ErrorCode::UNSUPPORTED_VERSION));
  EXPECT_EQ(old.call<wire::UnregisterControllerResponse>(leave).error_code, code(ErrorCode::UNSUPPORTED_VERSION));
}

}  // namespace
}  // namespace castellan::controller

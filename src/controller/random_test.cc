// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A cluster that is kept busy at random: brokers come, go, restart and lose directories, topics are made, moved and deleted,
// settings change. After every step the image's invariants hold, a second image that follows the records is equal, and at the
// end, when all brokers are there, every partition that can have a leader has one.

#include <gtest/gtest.h>

#include "controller/testing.h"
#include "image/invariants.h"
#include "image/snapshot.h"
#include "wire/messages/alter_partition_reassignments_request.h"
#include "wire/messages/alter_partition_reassignments_response.h"
#include "wire/messages/create_partitions_request.h"
#include "wire/messages/create_partitions_response.h"
#include "wire/messages/delete_topics_request.h"
#include "wire/messages/delete_topics_response.h"
#include "wire/messages/elect_leaders_request.h"
#include "wire/messages/elect_leaders_response.h"
#include "wire/messages/incremental_alter_configs_request.h"
#include "wire/messages/incremental_alter_configs_response.h"

namespace castellan::controller {
namespace {

constexpr int32_t broker_count = 5;

struct Workload {
  TestCluster cluster;
  Prng random;
  uint64_t incarnations = 1;
  std::vector<std::string> topics;
  Image follower;  // by records as they come from the log

  Workload(uint64_t seed, bool elr)
      : cluster(elr ? image::FeatureLevels{{"metadata.version", 33}, {"eligible.leader.replicas.version", 1}} : image::FeatureLevels{{"metadata.version", 33}},
                {{"unclean.leader.election.interval.ms", "3000"}, {"leader.imbalance.check.interval.seconds", "5"}}),
        random(seed) {
    image::snapshot_records(cluster.image, [&](const MetadataRecord& record) { follow(record); });
    follower.last_offset = cluster.image.last_offset;
  }

  void follow(const MetadataRecord& record) {
    const auto decoded = image::decode_metadata_record(image::encode_metadata_record(record));
    ASSERT_TRUE(decoded && image::apply(follower, *decoded, follower.last_offset + 1)) << image::record_name(record);
  }

  void check(const char* what) {
    for (const MetadataRecord& record : cluster.last.records) follow(record);
    cluster.last.records.clear();
    ASSERT_TRUE(follower == cluster.image) << what;
    const auto whole = image::check_invariants(cluster.image);
    ASSERT_TRUE(whole) << what << ": " << whole.error().message;
    const auto partitions = image::check_partition_invariants(cluster.image);
    ASSERT_TRUE(partitions) << what << ": " << partitions.error().message;
  }

  int32_t any_broker() { return static_cast<int32_t>(random.between(1, broker_count)); }
  std::string any_topic() { return topics.empty() ? "none" : topics[random.below(topics.size())]; }

  std::vector<int32_t> any_replicas() {
    std::set<int32_t> chosen;
    const auto size = static_cast<size_t>(random.between(1, 4));
    while (chosen.size() < size) chosen.insert(any_broker());
    std::vector<int32_t> replicas(chosen.begin(), chosen.end());
    std::swap(replicas.front(), replicas[random.below(replicas.size())]);
    return replicas;
  }

  static wire::BrokerRegistrationRequest registration_with_two_directories(int32_t id, uint64_t incarnation) {
    auto request = TestCluster::registration_of(id, incarnation);
    request.log_dirs.push_back(Uuid{2000, static_cast<uint64_t>(id)});
    return request;
  }

  void register_any() {
    auto request = registration_with_two_directories(any_broker(), random.chance(0.3) ? 1 : ++incarnations);
    const auto* existing = cluster.image.cluster.broker(NodeId(request.broker_id));
    if (existing != nullptr && random.chance(0.5)) request.previous_broker_epoch = existing->epoch.value;
    cluster.register_broker(request);
  }

  void heartbeat_any(bool well) {
    auto request = cluster.heartbeat_of(any_broker());
    if (!well) {
      request.want_fence = random.chance(0.2);
      request.want_shut_down = random.chance(0.2);
      if (random.chance(0.1)) request.offline_log_dirs = {Uuid{1000, static_cast<uint64_t>(request.broker_id)}};
      if (random.chance(0.2)) request.current_metadata_offset -= 3;
    }
    cluster.heartbeat(request);
  }

  void isr_any() {
    const image::Topic* topic = cluster.image.topics.by_name(any_topic());
    if (topic == nullptr || topic->partitions.empty()) return;
    const auto index = static_cast<int32_t>(random.below(topic->partitions.size()));
    const image::Partition& partition = *topic->partition(index);
    if (partition.leader() == no_node) return;
    std::vector<int32_t> isr;
    for (NodeId id : partition.replicas()) {
      if (id == partition.leader() || random.chance(0.7)) isr.push_back(id.value);
    }
    if (partition.recovery() == image::LeaderRecoveryState::RECOVERING) isr = {partition.leader().value};
    cluster.alter_isr(topic->name, isr, index);
  }

  void create_any() {
    const std::string name = fmt::format("t.{}", random.below(12));
    const bool manual = random.chance(0.4);
    config::ConfigMap configs;
    if (random.chance(0.4)) configs["min.insync.replicas"] = std::to_string(random.between(1, 3));
    if (random.chance(0.3)) configs["unclean.leader.election.enable"] = "true";
    const auto result = manual ? cluster.create_assigned(name, {any_replicas()}, configs)
                               : cluster.create_topic(name, static_cast<int32_t>(random.between(1, 4)), static_cast<int16_t>(random.between(1, 3)), {}, configs);
    if (result.error_code == 0) topics.push_back(name);
  }

  void delete_any() {
    wire::DeleteTopicsRequest request;
    request.timeout_ms = 1000;
    request.topics.emplace_back().name = any_topic();
    cluster.call<wire::DeleteTopicsResponse>(request);
    std::erase_if(topics, [&](const std::string& name) { return cluster.image.topics.by_name(name) == nullptr; });
  }

  void grow_any() {
    wire::CreatePartitionsRequest request;
    request.timeout_ms = 1000;
    auto& topic = request.topics.emplace_back();
    topic.name = any_topic();
    topic.count = static_cast<int32_t>(random.between(1, 6));
    topic.assignments.reset();
    cluster.call<wire::CreatePartitionsResponse>(request);
  }

  void move_any() {
    wire::AlterPartitionReassignmentsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = any_topic();
    auto& partition = topic.partitions.emplace_back();
    if (!random.chance(0.3)) partition.replicas = any_replicas();
    cluster.call<wire::AlterPartitionReassignmentsResponse>(request);
  }

  void elect_any() {
    wire::ElectLeadersRequest request;
    request.election_type = random.chance(0.3) ? 1 : 0;
    request.topic_partitions.reset();
    cluster.call<wire::ElectLeadersResponse>(request);
  }

  void configure_any() {
    wire::IncrementalAlterConfigsRequest request;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = random.chance(0.8) ? 2 : 4;
    resource.resource_name = resource.resource_type == 2 ? any_topic() : "";
    auto& config = resource.configs.emplace_back();
    config.name = "min.insync.replicas";
    config.value = std::to_string(random.between(1, 3));
    cluster.call<wire::IncrementalAlterConfigsResponse>(request);
  }

  void step() {
    const uint64_t dice = random.below(100);
    if (dice < 12) register_any();
    else if (dice < 45) heartbeat_any(random.chance(0.6));
    else if (dice < 62) isr_any();
    else if (dice < 70) create_any();
    else if (dice < 74) delete_any();
    else if (dice < 78) grow_any();
    else if (dice < 84) move_any();
    else if (dice < 87) elect_any();
    else if (dice < 90) configure_any();
    else cluster.advance(std::chrono::milliseconds(random.between(1, 3000)));
  }
};

class RandomCluster : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomCluster, KeepsItsInvariantsAndComesBackWhenItsBrokersDo) {
  const uint64_t seed = GetParam();
  Workload load(seed, seed % 2 == 0);
  for (int i = 0; i < 400; ++i) {
    ASSERT_NO_FATAL_FAILURE(load.step()) << "step " << i;
    ASSERT_NO_FATAL_FAILURE(load.check("step")) << i;
    while (auto due = load.cluster.controller.tick(load.cluster.context())) {
      load.cluster.take(std::move(*due));
      ASSERT_NO_FATAL_FAILURE(load.check("tick")) << i;
    }
  }
  for (int32_t id = 1; id <= broker_count; ++id) {
    load.cluster.advance(std::chrono::milliseconds(9001));
    load.cluster.register_broker(Workload::registration_with_two_directories(id, ++load.incarnations));
    load.check("register");
  }
  for (int32_t id = 1; id <= broker_count; ++id) {
    load.cluster.heartbeat(load.cluster.heartbeat_of(id));
    load.check("heartbeat");
  }
  for (const auto& [id, topic] : load.cluster.image.topics.by_id) {
    for (const auto& [index, partition] : topic.partitions) {
      const bool can_lead = !partition.isr().empty() || !partition.elr().empty();
      EXPECT_TRUE(partition.leader() != no_node || !can_lead) << topic.name << "-" << index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCluster, testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace castellan::controller

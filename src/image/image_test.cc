// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/image.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "image/apply.h"
#include "image/snapshot.h"

namespace castellan::image {
namespace {

using NodeIds = std::vector<NodeId>;

wire::PartitionRecord partition_of(const Uuid& topic, int32_t index, std::vector<int32_t> replicas) {
  wire::PartitionRecord record;
  record.topic_id = topic;
  record.partition_id = index;
  record.replicas = replicas;
  record.isr = replicas;
  record.leader = replicas.front();
  record.leader_epoch = 0;
  record.partition_epoch = 0;
  return record;
}

template <class M>
Result<void> apply_to(Image& image, M message, int64_t offset = 1) {
  return apply(image, {.version = 0, .message = std::move(message)}, Offset(offset));
}

struct TopicOfTwo {
  Image image;
  Uuid id{7, 7};

  TopicOfTwo() {
    wire::TopicRecord topic;
    topic.name = "orders.eu";
    topic.topic_id = id;
    EXPECT_TRUE(apply_to(image, topic));
    EXPECT_TRUE(apply_to(image, partition_of(id, 0, {1, 2, 3})));
    EXPECT_TRUE(apply_to(image, partition_of(id, 1, {2, 3, 1})));
  }
};

TEST(Partition, PackedAndWideFormsAreTheSame) {
  const DirectoryId one{Uuid{5, 1}}, two{Uuid{5, 2}};
  const PartitionState small{.replicas = {NodeId{1}, NodeId{2}, NodeId{3}}, .directories = {one, two, directory_unassigned},
                             .isr = {NodeId{3}, NodeId{1}}, .leader = NodeId{3}, .leader_epoch = Epoch{4}, .partition_epoch = 9};
  PartitionState large = small;
  large.adding = large.removing = large.elr = large.last_known_elr = {NodeId{8}, NodeId{9}};
  large.recovery = LeaderRecoveryState::RECOVERING;
  Partition moved;
  for (const PartitionState& state : {small, large}) {
    Partition packed(state);
    EXPECT_EQ(packed.state(), state);
    EXPECT_EQ(packed.directory_of(NodeId{2}), two);
    const Partition copy = packed;
    EXPECT_EQ(copy, packed);
    moved = std::move(packed);
    EXPECT_EQ(moved, copy);
    EXPECT_EQ(moved.state(), state);
  }
  EXPECT_FALSE(moved == Partition(small));
}

TEST(Partition, AllMigratingDirectoriesAreNoDirectories) {
  PartitionState state{.replicas = {NodeId{1}, NodeId{2}}};
  const Partition without(state);
  state.directories = {directory_migrating, directory_migrating};
  EXPECT_EQ(Partition(state), without);
  EXPECT_EQ(without.directory(1), directory_migrating);
}

TEST(ApplyTopics, IndexesFollowThePartitions) {
  TopicOfTwo t;
  const PartitionKey first{TopicId(t.id), 0};
  EXPECT_EQ(t.image.topics.partition_count, 2);
  EXPECT_EQ(t.image.topics.of_broker(NodeId{1}).size(), 2u);
  EXPECT_TRUE(t.image.topics.leaderless.empty());
  EXPECT_TRUE(t.image.topics.colliding.contains(std::pair<std::string, std::string>("orders_eu", "orders.eu")));

  wire::PartitionChangeRecord change;
  change.topic_id = t.id;
  change.partition_id = 0;
  change.leader = -1;
  change.replicas = {2, 4};
  change.adding_replicas = {4};
  change.isr.emplace({2});
  ASSERT_TRUE(apply_to(t.image, change));
  const Partition& changed = *t.image.topics.partition(first);
  EXPECT_EQ(changed.leader(), no_node);
  EXPECT_EQ(changed.leader_epoch(), Epoch{1});
  EXPECT_EQ(changed.partition_epoch(), 1);
  EXPECT_TRUE(t.image.topics.leaderless.contains(first));
  EXPECT_TRUE(t.image.topics.imbalanced.contains(first));
  EXPECT_TRUE(t.image.topics.reassigning.contains(first));
  EXPECT_TRUE(t.image.topics.of_broker(NodeId{4}).contains(first));
  EXPECT_FALSE(t.image.topics.of_broker(NodeId{1}).contains(first));

  wire::RemoveTopicRecord remove;
  remove.topic_id = t.id;
  ASSERT_TRUE(apply_to(t.image, remove));
  EXPECT_TRUE(t.image.topics.by_id.empty() && t.image.topics.ids.empty() && t.image.topics.of_brokers.empty() && t.image.topics.leaderless.empty() &&
              t.image.topics.imbalanced.empty() && t.image.topics.reassigning.empty() && t.image.topics.colliding.empty());
  EXPECT_EQ(t.image.topics.partition_count, 0);
}

TEST(ApplyTopics, RecordsThatDoNotFitAreRefusedByName) {
  TopicOfTwo t;
  wire::TopicRecord again;
  again.name = "orders.eu";
  again.topic_id = Uuid{8, 8};
  EXPECT_EQ(apply_to(t.image, again, 40).error().message, fmt::format("TopicRecord at offset 40: topic orders.eu is there already, with id {}", t.id));
  EXPECT_FALSE(apply_to(t.image, partition_of(Uuid{9, 9}, 0, {1})));
  auto odd = partition_of(t.id, 5, {1, 2});
  odd.directories = {Uuid{1, 1}};
  EXPECT_FALSE(apply_to(t.image, odd));
  wire::PartitionChangeRecord change;
  change.topic_id = t.id;
  change.partition_id = 2;
  EXPECT_FALSE(apply_to(t.image, change));
  wire::ClearElrRecord clear;
  clear.topic_name = "nope";
  EXPECT_FALSE(apply_to(t.image, clear));
  wire::RemoveTopicRecord remove;
  remove.topic_id = Uuid{9, 9};
  EXPECT_FALSE(apply_to(t.image, remove));
}

TEST(ApplyTopics, ClearElrTouchesOnlyPartitionsThatHaveOne) {
  TopicOfTwo t;
  auto with_elr = partition_of(t.id, 2, {1, 2});
  with_elr.isr = {};
  with_elr.leader = -1;
  with_elr.eligible_leader_replicas = {2};
  with_elr.last_known_elr = {1};
  ASSERT_TRUE(apply_to(t.image, with_elr));
  ASSERT_TRUE(apply_to(t.image, wire::ClearElrRecord{}));
  EXPECT_EQ(t.image.topics.partition({TopicId(t.id), 2})->partition_epoch(), 1);
  EXPECT_EQ(t.image.topics.partition({TopicId(t.id), 2})->leader_epoch(), Epoch{0});
  EXPECT_TRUE(t.image.topics.partition({TopicId(t.id), 2})->elr().empty());
  EXPECT_EQ(t.image.topics.partition({TopicId(t.id), 0})->partition_epoch(), 0);
}

TEST(ApplyTopics, ADirectoryListThatDoesNotFitIsRefused) {
  TopicOfTwo t;
  auto placed = partition_of(t.id, 3, {1, 2});
  placed.directories = {Uuid{1, 1000}, Uuid{1, 2000}};
  ASSERT_TRUE(apply_to(t.image, placed));
  wire::PartitionChangeRecord change;
  change.topic_id = t.id;
  change.partition_id = 3;
  change.replicas = {1, 2, 3};
  EXPECT_FALSE(apply_to(t.image, change));
  change.directories.emplace({Uuid{1, 1000}, Uuid{1, 2000}, Uuid{1, 3000}});
  EXPECT_TRUE(apply_to(t.image, change));
}

wire::RegisterBrokerRecord broker_of(int32_t id, int64_t epoch, std::vector<Uuid> dirs) {
  wire::RegisterBrokerRecord record;
  record.broker_id = id;
  record.broker_epoch = epoch;
  record.incarnation_id = Uuid{1, static_cast<uint64_t>(id)};
  record.log_dirs = std::move(dirs);
  return record;
}

TEST(ApplyCluster, ABrokerRegistersChangesAndLeaves) {
  Image image;
  ASSERT_TRUE(apply_to(image, broker_of(1, 10, {Uuid{3, 2}, Uuid{3, 1}}), 12));
  EXPECT_EQ(*image.cluster.registration_offsets.find(NodeId{1}), Offset{12});
  EXPECT_TRUE(image.cluster.broker(NodeId{1})->fenced);
  EXPECT_EQ(image.cluster.broker(NodeId{1})->log_dirs.front(), DirectoryId(Uuid{3, 1}));
  wire::BrokerRegistrationChangeRecord change;
  change.broker_id = 1;
  change.broker_epoch = 10;
  change.fenced = -1;
  change.cordoned_log_dirs.emplace({Uuid{3, 1}, Uuid{3, 2}});
  ASSERT_TRUE(apply_to(image, change));
  EXPECT_TRUE(image.cluster.broker(NodeId{1})->active());
  EXPECT_TRUE(image.cluster.broker(NodeId{1})->all_directories_cordoned());
  EXPECT_FALSE(apply_to(image, broker_of(2, 20, {Uuid{3, 2}}))) << "a directory has one owner";
  change.broker_epoch = 9;
  EXPECT_FALSE(apply_to(image, change));
  change.broker_epoch = 10;
  change.fenced = 2;
  EXPECT_FALSE(apply_to(image, change));
  change.fenced = 0;
  change.log_dirs = {Uuid{3, 2}};
  ASSERT_TRUE(apply_to(image, change));
  EXPECT_FALSE(image.cluster.broker(NodeId{1})->has_online_directory(DirectoryId(Uuid{3, 1})));
  EXPECT_TRUE(image.cluster.broker(NodeId{1})->has_online_directory(directory_unassigned));
  EXPECT_FALSE(image.cluster.broker(NodeId{1})->has_online_directory(directory_lost));
  wire::UnregisterBrokerRecord unregister;
  unregister.broker_id = 1;
  unregister.broker_epoch = 10;
  ASSERT_TRUE(apply_to(image, unregister));
  EXPECT_TRUE(image.cluster.directory_owners.empty());
  EXPECT_FALSE(apply_to(image, unregister));
}

TEST(Apply, FeaturesConfigsAndTheRestFollowTheirRecords) {
  Image image;
  wire::FeatureLevelRecord feature;
  feature.name = "metadata.version";
  feature.feature_level = 6;
  EXPECT_FALSE(apply_to(image, feature));
  feature.feature_level = 33;
  ASSERT_TRUE(apply_to(image, feature));
  feature.name = "kraft.version";
  feature.feature_level = 1;
  ASSERT_TRUE(apply_to(image, feature));
  EXPECT_EQ(image.features.level("kraft.version"), 0) << "lives in control records";
  feature.name = "group.version";
  ASSERT_TRUE(apply_to(image, feature));
  EXPECT_EQ(image.features.level("group.version"), 1);
  feature.feature_level = 0;
  ASSERT_TRUE(apply_to(image, feature));
  EXPECT_TRUE(image.features.levels.empty());

  wire::ConfigRecord config;
  config.resource_type = 2;
  config.resource_name = "orders";
  config.name = "retention.ms";
  config.value = "1000";
  ASSERT_TRUE(apply_to(image, config));
  EXPECT_EQ(image.configs.of_topic("orders").at("retention.ms"), "1000");
  config.value.reset();
  ASSERT_TRUE(apply_to(image, config));
  EXPECT_TRUE(image.configs.resources.empty());
  config.name = "message.format.version";
  config.value = "2.0";
  ASSERT_TRUE(apply_to(image, config));
  EXPECT_TRUE(image.configs.resources.empty()) << "a topic key that is no more is dropped";

  wire::ClientQuotaRecord quota;
  quota.entity.emplace_back().entity_type = "user";
  quota.entity.back().entity_name = std::nullopt;
  quota.key = "producer_byte_rate";
  quota.value = 5;
  ASSERT_TRUE(apply_to(image, quota));
  EXPECT_EQ(image.client_quotas.size(), 1u);
  quota.remove = true;
  ASSERT_TRUE(apply_to(image, quota));
  EXPECT_TRUE(image.client_quotas.empty());
  EXPECT_FALSE(apply_to(image, wire::RemoveAccessControlEntryRecord{}));
  EXPECT_FALSE(apply_to(image, wire::RemoveUserScramCredentialRecord{}));
}

TEST(Replay, ATransactionShowsAtItsEndOrNever) {
  const auto record = [](auto message) { return MetadataRecord{.version = 0, .message = std::move(message)}; };
  wire::ProducerIdsRecord ids;
  ids.next_producer_id = 1000;
  for (const bool abort : {false, true}) {
    Replay replay;
    ASSERT_TRUE(replay.apply(record(wire::BeginTransactionRecord{}), Offset{0}));
    ASSERT_TRUE(replay.apply(record(ids), Offset{1}));
    EXPECT_EQ(replay.stable().next_producer_id, -1);
    EXPECT_EQ(replay.tip().next_producer_id, 1000);
    EXPECT_FALSE(replay.apply(record(wire::BeginTransactionRecord{}), Offset{2}));
    ASSERT_TRUE(abort ? replay.apply(record(wire::AbortTransactionRecord{}), Offset{2}) : replay.apply(record(wire::EndTransactionRecord{}), Offset{2}));
    EXPECT_EQ(replay.stable().next_producer_id, abort ? -1 : 1000);
    EXPECT_EQ(replay.stable().last_offset, Offset{2});
    EXPECT_FALSE(replay.apply(record(wire::EndTransactionRecord{}), Offset{3}));
    EXPECT_FALSE(replay.apply(record(wire::AbortTransactionRecord{}), Offset{3}));
  }
}

TEST(Image, ACopyDoesNotSeeLaterRecords) {
  TopicOfTwo t;
  const Image before = t.image;
  wire::PartitionChangeRecord change;
  change.topic_id = t.id;
  change.partition_id = 1;
  change.leader = 3;
  ASSERT_TRUE(apply_to(t.image, change));
  int changes = 0;
  diff_partitions(before.topics, t.image.topics, [&](const Topic& topic, const PartitionKey& key, const Partition* a, const Partition* b) {
    ++changes;
    EXPECT_EQ(topic.name, "orders.eu");
    EXPECT_EQ(key.partition, 1);
    EXPECT_EQ(a->leader(), NodeId{2});
    EXPECT_EQ(b->leader(), NodeId{3});
  });
  EXPECT_EQ(changes, 1);
  EXPECT_FALSE(before == t.image);
}

TEST(Snapshot, WhatAnOldMetadataVersionCannotSayIsNamed) {
  Image image;
  wire::FeatureLevelRecord feature;
  feature.name = "metadata.version";
  feature.feature_level = 7;
  ASSERT_TRUE(apply_to(image, feature));
  ASSERT_TRUE(apply_to(image, broker_of(1, 10, {Uuid{3, 2}})));
  wire::RegisterControllerRecord controller;
  controller.controller_id = 5;
  ASSERT_TRUE(apply_to(image, controller));
  int records = 0;
  const auto losses = snapshot_records(image, [&](const MetadataRecord& record) {
    ++records;
    (void)encode_metadata_record(record);
  });
  EXPECT_EQ(records, 2);
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[1], "metadata.version 3.3-IV3 cannot hold the registration of controller 5");
}

}  // namespace
}  // namespace castellan::image

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "group/harness.h"

namespace castellan::group {
namespace {

using testing::Harness;
using FetchedGroup = wire::OffsetFetchResponse::OffsetFetchResponseGroup;

TEST(OffsetCommit, ConsumerWithoutAGroupMakesASimpleGroup) {
  Harness h;
  EXPECT_EQ(h.commit_offset("g", "", -1, 7), ErrorCode::NONE);
  EXPECT_EQ(h.fetch_offset("g"), 7);
  EXPECT_EQ(h.describe("g").group_state, "Empty");
  EXPECT_EQ(h.describe("g").protocol_type, "");
}

TEST(OffsetCommit, UnknownGroupWithAGenerationDependsOnTheVersion) {
  Harness h;
  EXPECT_EQ(h.commit_offset("g", "m", 3, 7, 8), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(h.commit_offset("g", "m", 3, 7, 9), ErrorCode::GROUP_ID_NOT_FOUND);
}

TEST(OffsetCommit, MetadataAndLeaderEpochComeBackAsTheyWere) {
  Harness h;
  h.send(Harness::commit_request("g", "", -1, 7, "h\u00e9llo"), 9);
  OffsetFetch fetch;
  fetch.group.group_id = "g";
  fetch.group.topics.reset();
  const auto& fetched = h.reply<FetchedGroup>(h.send(fetch, 9));
  const auto& partition = fetched.topics.at(0).partitions.at(0);
  EXPECT_EQ(partition.metadata, "h\u00e9llo");
  EXPECT_EQ(partition.committed_leader_epoch, 3);
}

TEST(OffsetCommit, MetadataOf4096CharactersIsTheLongest) {
  Harness h;
  auto request = Harness::commit_request("g", "", -1, 7, std::string(4096, 'x'));
  request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  request.topics[0].partitions[1].partition_index = 1;
  request.topics[0].partitions[1].committed_metadata = std::string(4097, 'x');
  const auto response = h.reply<wire::OffsetCommitResponse>(h.send(request, 9));
  EXPECT_EQ(response.topics.at(0).partitions.at(0).error_code, 0);
  EXPECT_EQ(Harness::error(response.topics.at(0).partitions.at(1).error_code), ErrorCode::OFFSET_METADATA_TOO_LARGE);
  EXPECT_EQ(h.log.size(), 1u);
}

TEST(OffsetCommit, RetentionTimeOfAnOldClientIsKept) {
  Harness h;
  auto request = Harness::commit_request("g", "", -1, 7);
  request.retention_time_ms = 1'000;
  h.send(request, 2);
  EXPECT_EQ(load_big_endian<int16_t>(h.log.at(0).value->data()), 1);  // the only version that has it
  h.shard.finish_loading(h.now);
  h.advance(600'000);
  EXPECT_EQ(h.fetch_offset("g"), -1);
}

TEST(OffsetCommit, AnswerWaitsForTheHighWatermark) {
  Harness h;
  h.commits_at_once = false;
  const Token token = h.send(Harness::commit_request("g", "", -1, 7), 9);
  EXPECT_FALSE(h.is_answered(token));
  EXPECT_EQ(h.fetch_offset("g"), -1);  // what is not committed is not seen
  h.commit();
  EXPECT_TRUE(h.is_answered(token));
  EXPECT_EQ(h.fetch_offset("g"), 7);
}

TEST(OffsetCommit, FailedAppendIsTakenBackAndItsErrorTranslated) {
  const struct {
    ErrorCode append, response;
  } cases[] = {
      {ErrorCode::NOT_ENOUGH_REPLICAS, ErrorCode::COORDINATOR_NOT_AVAILABLE},
      {ErrorCode::REQUEST_TIMED_OUT, ErrorCode::COORDINATOR_NOT_AVAILABLE},
      {ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::COORDINATOR_NOT_AVAILABLE},
      {ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::NOT_COORDINATOR},
      {ErrorCode::KAFKA_STORAGE_ERROR, ErrorCode::NOT_COORDINATOR},
      {ErrorCode::MESSAGE_TOO_LARGE, ErrorCode::UNKNOWN_SERVER_ERROR},
      {ErrorCode::NETWORK_EXCEPTION, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS},
  };
  for (const auto& c : cases) {
    Harness h;
    h.commit_offset("g", "", -1, 7);
    h.appends_at_once = false;
    const Token token = h.send(Harness::commit_request("g", "", -1, 9), 9);
    h.fail_next(c.append);
    EXPECT_EQ(Harness::error(h.reply<wire::OffsetCommitResponse>(token).topics.at(0).partitions.at(0).error_code), c.response);
    EXPECT_EQ(h.fetch_offset("g", true), 7);
  }
}

TEST(OffsetCommit, FailureTakesBackWhatWasBuiltUponItToo) {
  Harness h;
  h.appends_at_once = false;
  const Token first = h.send(Harness::commit_request("g", "", -1, 1), 9);
  const Token second = h.send(Harness::commit_request("g", "", -1, 2), 9);
  const Token heartbeat = h.send(wire::HeartbeatRequest{}, 4);
  ASSERT_EQ(h.appends.size(), 1u);  // the second waits for the first
  h.fail_next(ErrorCode::NOT_ENOUGH_REPLICAS);
  EXPECT_TRUE(h.is_answered(first) && h.is_answered(second) && h.is_answered(heartbeat));
  EXPECT_EQ(h.shard.state().groups().size(), 0u);
  EXPECT_EQ(h.shard.waiting_batches(), 0u);
  h.appends_at_once = true;
  EXPECT_EQ(h.commit_offset("g", "", -1, 3), ErrorCode::NONE);
}

TEST(OffsetCommit, CommitsThatComeDuringAnAppendShareTheNext) {
  Harness h;
  h.appends_at_once = false;
  for (int i = 0; i < 5; ++i) h.send(Harness::commit_request("g", "", -1, i), 9);
  h.write_next();
  h.perform();
  ASSERT_EQ(h.appends.size(), 1u);
  EXPECT_EQ(h.appends.front().records.size(), 4u);
}

TEST(OffsetCommit, BatchDoesNotGrowBeyondItsLimit) {
  Configuration configuration;
  configuration.batch_size_max = 3'000;
  Harness h(configuration);
  h.appends_at_once = false;
  for (int i = 0; i < 4; ++i) h.send(Harness::commit_request("g", "", -1, i, std::string(1'200, 'x')), 9);
  h.write_next();
  h.perform();
  EXPECT_EQ(h.appends.front().records.size(), 2u);
}

TEST(OffsetCommit, AppendThatIsNotCommittedInTimeIsAnsweredButNotTakenBack) {
  Harness h;
  h.commits_at_once = false;
  const Token token = h.send(Harness::commit_request("g", "", -1, 7), 9);
  h.advance(4'999);
  EXPECT_FALSE(h.is_answered(token));
  h.advance(1);
  EXPECT_EQ(Harness::error(h.reply<wire::OffsetCommitResponse>(token).topics.at(0).partitions.at(0).error_code),
            ErrorCode::COORDINATOR_NOT_AVAILABLE);
  h.commit();
  EXPECT_EQ(h.fetch_offset("g"), 7);
}

TEST(OffsetFetch, StableReadWaitsForWhatIsUnderWay) {
  Harness h;
  h.commits_at_once = false;
  h.send(Harness::commit_request("g", "", -1, 7), 9);
  OffsetFetch fetch;
  fetch.require_stable = true;
  fetch.group.group_id = "g";
  fetch.group.topics.reset();
  const Token token = h.send(fetch, 9);
  EXPECT_FALSE(h.is_answered(token));
  h.commit();
  EXPECT_EQ(h.reply<FetchedGroup>(token).topics.at(0).partitions.at(0).committed_offset, 7);
}

TEST(OffsetFetch, OffsetsOfAnOlderTopicOfThatNameAreNotGiven) {
  Harness h;
  h.commit_offset("g", "", -1, 7);
  OffsetFetch fetch;
  fetch.group.group_id = "g";
  auto& topic = fetch.group.topics.emplace().emplace_back();
  topic.name = "t";
  topic.topic_id = Uuid{9, 9};
  topic.partition_indexes = {0};
  EXPECT_EQ(h.reply<FetchedGroup>(h.send(fetch, 10)).topics.at(0).partitions.at(0).committed_offset, -1);
}

TEST(OffsetFetch, AllOffsetsOfAnUnknownGroupAreNone) {
  Harness h;
  OffsetFetch fetch;
  fetch.group.group_id = "never";
  fetch.group.topics.reset();
  const auto& fetched = h.reply<FetchedGroup>(h.send(fetch, 8));
  EXPECT_EQ(fetched.error_code, 0);
  EXPECT_TRUE(fetched.topics.empty());
}

wire::OffsetDeleteRequest delete_request(const std::string& topic) {
  wire::OffsetDeleteRequest request;
  request.group_id = "g";
  auto& entry = request.topics.emplace_back();
  entry.name = topic;
  entry.partitions.emplace_back();
  return request;
}

TEST(OffsetDelete, OnlyTopicsThatNobodyReadsNow) {
  Harness h(Harness::without_delay());
  auto request = h.join_request("g");
  request.protocols[0].metadata = Harness::subscription({"t"});
  const auto joining = h.begin_join("g", "client", request);
  h.sync("g", joining.member, 1, {});
  h.send(Harness::commit_request("g", joining.member, 1, 5, "", "old"), 9);
  const auto result = [&](const std::string& topic) {
    return Harness::error(h.reply<wire::OffsetDeleteResponse>(h.send(delete_request(topic), 0)).topics.at(0).partitions.at(0).error_code);
  };
  EXPECT_EQ(result("t"), ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC);
  EXPECT_EQ(result("old"), ErrorCode::NONE);
  EXPECT_EQ(h.shard.state().offsets().all().size(), 0u);
}

TEST(OffsetDelete, GroupOfAnotherKindMustBeEmpty) {
  Harness h(Harness::without_delay());
  auto request = h.join_request("g");
  request.protocol_type = "connect";
  h.begin_join("g", "client", request);
  EXPECT_EQ(Harness::error(h.reply<wire::OffsetDeleteResponse>(h.send(delete_request("t"), 0)).error_code), ErrorCode::NON_EMPTY_GROUP);
  EXPECT_EQ(Harness::error(h.reply<wire::OffsetDeleteResponse>(h.send([] {
    auto unknown = delete_request("t");
    unknown.group_id = "never";
    return unknown;
  }(), 0)).error_code), ErrorCode::GROUP_ID_NOT_FOUND);
}

TEST(DeleteGroups, TakesOffsetsAndGroupAway) {
  Harness h(Harness::without_delay());
  const std::string member = h.stable_group("g");
  h.commit_offset("g", member, 1, 5);
  EXPECT_EQ(h.delete_group("g"), ErrorCode::NON_EMPTY_GROUP);
  h.leave("g", member);
  EXPECT_EQ(h.delete_group("g"), ErrorCode::NONE);
  EXPECT_EQ(h.delete_group("g"), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(h.fetch_offset("g"), -1);
  Harness other;
  h.reload_into(other);
  EXPECT_TRUE(other.shard.state().groups().empty());
  EXPECT_TRUE(other.shard.state().offsets().all().empty());
}

TEST(DeleteGroups, FailedAppendBringsTheGroupBack) {
  Harness h(Harness::without_delay());
  h.commit_offset("g", "", -1, 5);
  h.appends_at_once = false;
  const Token token = h.send(DeleteGroups{{"g"}}, 2);
  EXPECT_EQ(h.describe("g").group_state, "Empty");  // still there for those who read what is committed
  h.fail_next(ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(Harness::error(h.reply<wire::DeleteGroupsResponse>(token).results.at(0).error_code), ErrorCode::NOT_COORDINATOR);
  EXPECT_EQ(h.fetch_offset("g"), 5);
}

TEST(NewGroup, FailedAppendAnswersThoseWhoWait) {
  Harness h;
  h.appends_at_once = false;
  const Token token = h.send(h.join_request("g"), 3);  // waits for others
  h.fail_next(ErrorCode::NOT_ENOUGH_REPLICAS);
  EXPECT_EQ(Harness::error(h.reply<wire::JoinGroupResponse>(token).error_code), ErrorCode::COORDINATOR_NOT_AVAILABLE);
  EXPECT_TRUE(h.shard.state().groups().empty());
  h.advance(1'000'000);
}

TEST(SyncGroup, FailedAppendTellsAllToJoinAgain) {
  Harness h(Harness::without_delay());
  const auto joining = h.begin_join("g");
  h.appends_at_once = false;
  const Token token = h.sync("g", joining.member, 1, {{joining.member, "A"}});
  EXPECT_FALSE(h.is_answered(token));
  h.fail_next(ErrorCode::NOT_ENOUGH_REPLICAS);
  EXPECT_EQ(Harness::error(h.reply<wire::SyncGroupResponse>(token).error_code), ErrorCode::COORDINATOR_NOT_AVAILABLE);
  EXPECT_EQ(h.describe("g").group_state, "PreparingRebalance");
}

TEST(ListGroups, FiltersByStateAndTypeInAnyCase) {
  Harness h(Harness::without_delay());
  h.stable_group("a");
  h.commit_offset("b", "", -1, 1);
  const auto names = [&](std::vector<std::string> states, std::vector<std::string> types) {
    wire::ListGroupsRequest request;
    request.states_filter = std::move(states);
    request.types_filter = std::move(types);
    std::string all;
    for (const auto& group : h.reply<wire::ListGroupsResponse>(h.send(request, 5)).groups) all += group.group_id + ":" + group.group_type + " ";
    return all;
  };
  EXPECT_EQ(names({}, {}), "a:classic b:classic ");
  EXPECT_EQ(names({"stable"}, {}), "a:classic ");
  EXPECT_EQ(names({" EMPTY "}, {"CLASSIC"}), "b:classic ");
  EXPECT_EQ(names({"Foo"}, {}), "");
  EXPECT_EQ(names({}, {"share"}), "");
}

TEST(DescribeGroups, UnknownGroupIsDeadAndFromVersionSixAnError) {
  Harness h;
  EXPECT_EQ(h.describe("never", 5).error_code, 0);
  EXPECT_EQ(h.describe("never", 5).group_state, "Dead");
  EXPECT_EQ(h.describe("never", 5).error_message, std::nullopt);
  EXPECT_EQ(Harness::error(h.describe("never", 6).error_code), ErrorCode::GROUP_ID_NOT_FOUND);
}

constexpr int64_t week = 7 * 24 * 3'600'000ll;

TEST(Retention, OffsetsOfAGroupWithoutMembersGoAWeekAfterItBecameEmpty) {
  Harness h(Harness::without_delay());
  h.finish_loading();
  const std::string member = h.stable_group("g");
  for (int i = 0; i < 100; ++i) {
    h.advance(20'000);
    h.heartbeat("g", member, 1);
  }
  h.commit_offset("g", member, 1, 5);
  h.leave("g", member);
  h.advance(week - 600'000);
  EXPECT_EQ(h.fetch_offset("g"), 5);
  h.advance(1'200'000);
  EXPECT_EQ(h.fetch_offset("g"), -1);
  EXPECT_TRUE(h.shard.state().groups().empty());
}

TEST(Retention, CommitOfASimpleConsumerGoesAWeekAfterItWasMade) {
  Harness h;
  h.finish_loading();
  h.commit_offset("g", "", -1, 5);
  h.advance(week / 2);
  h.commit_offset("g", "", -1, 6);
  h.advance(week - 600'000);
  EXPECT_EQ(h.fetch_offset("g"), 6);
  h.advance(1'200'000);
  EXPECT_TRUE(h.shard.state().groups().empty());
  EXPECT_FALSE(h.log.back().value.has_value());
}

TEST(Retention, StableGroupLosesOnlyTopicsThatItNoLongerReads) {
  Configuration configuration = Harness::without_delay();
  configuration.offsets_retention = std::chrono::milliseconds(1'000'000);
  Harness h(configuration);
  h.finish_loading();
  auto request = h.join_request("g");
  request.protocols[0].metadata = Harness::subscription({"t"});
  request.session_timeout_ms = 1'800'000;
  const auto joining = h.begin_join("g", "client", request);
  h.sync("g", joining.member, 1, {});
  h.send(Harness::commit_request("g", joining.member, 1, 5, "", "t"), 9);
  h.send(Harness::commit_request("g", joining.member, 1, 5, "", "old"), 9);
  for (int i = 0; i < 4; ++i) {
    h.advance(500'000);
    h.heartbeat("g", joining.member, 1);
  }
  const TopicOffsets* offsets = h.shard.state().offsets().find_group("g");
  ASSERT_NE(offsets, nullptr);
  EXPECT_TRUE(offsets->contains("t"));
  EXPECT_FALSE(offsets->contains("old"));
}

TEST(Retention, OpenTransactionHoldsTheGroup) {
  Harness h;
  Shard::LoadedRecord loaded;
  OffsetAndMetadata value;
  value.offset = 5;
  value.commit_timestamp = 0;
  const Record record = offset_commit_record({"g", "t", 0}, value);
  loaded.key = record.key;
  loaded.value = *record.value;
  loaded.producer_id = 7;
  ASSERT_TRUE(h.shard.load(loaded, h.now.wall).has_value());
  h.finish_loading();
  h.advance(2 * week);
  EXPECT_EQ(h.shard.state().groups().size(), 1u);
  OffsetFetch fetch;
  fetch.require_stable = true;
  fetch.group.group_id = "g";
  auto& topic = fetch.group.topics.emplace().emplace_back();
  topic.name = "t";
  topic.partition_indexes = {0, 1};
  const auto& partitions = h.reply<FetchedGroup>(h.send(fetch, 9)).topics.at(0).partitions;
  EXPECT_EQ(Harness::error(partitions.at(0).error_code), ErrorCode::UNSTABLE_OFFSET_COMMIT);
  EXPECT_EQ(partitions.at(1).error_code, 0);
}

TEST(TopicsDeleted, TakesTheOffsetsOfThatTopicAlone) {
  Harness h;
  h.send(Harness::commit_request("g", "", -1, 5, "", "a"), 9);
  h.send(Harness::commit_request("g", "", -1, 6, "", "b"), 9);
  h.shard.step(h.now, TopicsDeleted{{{"a", Uuid{1, 2}}, {"b", Uuid{7, 7}}}});  // b is another topic of that name
  h.perform();
  const TopicOffsets* offsets = h.shard.state().offsets().find_group("g");
  ASSERT_NE(offsets, nullptr);
  EXPECT_FALSE(offsets->contains("a"));
  EXPECT_TRUE(offsets->contains("b"));
}

}  // namespace
}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "partition/fetch_session.h"

#include <gtest/gtest.h>

#include "wire/messages/fetch_request.h"

namespace castellan::partition {
namespace {

constexpr int16_t by_name = 12;
constexpr int16_t by_id = 17;

struct Client {
  FetchSessions& sessions;
  MonotonicTime now{1'000'000'000};

  static wire::FetchRequest request(int32_t id, int32_t epoch, std::vector<std::string> topics = {}) {
    wire::FetchRequest request;
    request.session_id = id;
    request.session_epoch = epoch;
    for (const auto& name : topics) {
      auto& topic = request.topics.emplace_back();
      topic.topic = name;
      topic.partitions.emplace_back().fetch_offset = 5;
    }
    return request;
  }

  static std::string names(const FetchContext& context) {
    std::string all;
    for (const auto& partition : context.partitions) all += partition.key.topic + " ";
    return all;
  }

  // Every partition has this result.
  FetchOutcome finish(const FetchContext& context, FetchResult result = {}) {
    return sessions.finish(now, context, std::vector<FetchResult>(context.partitions.size(), result));
  }

  int32_t new_session(std::vector<std::string> topics) {
    return finish(sessions.open(now, by_name, request(0, 0, std::move(topics)))).session_id;
  }

  FetchContext next(int32_t id, int32_t epoch, std::vector<std::string> topics = {}) {
    return sessions.open(now, by_name, request(id, epoch, std::move(topics)));
  }
};

FetchResult at(int64_t high_watermark, bool has_records = false) {
  FetchResult result;
  result.high_watermark = high_watermark;
  result.log_start_offset = 0;
  result.has_records = has_records;
  return result;
}

TEST(FetchSession, RequestWithoutASessionReadsOnce) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const auto context = client.next(0, -1, {"a", "b"});
  EXPECT_EQ(context.kind, FetchContext::Kind::ONE_SHOT);
  const auto outcome = client.finish(context);
  EXPECT_EQ(outcome.session_id, 0);
  EXPECT_EQ(outcome.include, (std::vector<bool>{true, true}));
  EXPECT_EQ(sessions.size(), 0u);
}

TEST(FetchSession, IncrementalAnswerTellsOnlyWhatChanged) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const auto first = client.next(0, 0, {"a", "b"});
  const int32_t id = sessions.finish(client.now, first, {at(10, true), at(20)}).session_id;
  EXPECT_GT(id, 0);
  EXPECT_EQ(sessions.partition_count(), 2u);

  auto context = client.next(id, 1);
  EXPECT_EQ(Client::names(context), "a b ");
  EXPECT_EQ(context.partitions[0].fetch_offset, 5);
  auto outcome = sessions.finish(client.now, context, {at(10), at(20)});
  EXPECT_EQ(outcome.include, (std::vector<bool>{false, false}));
  EXPECT_EQ(outcome.session_id, id);

  context = client.next(id, 2);
  EXPECT_EQ(sessions.finish(client.now, context, {at(10), at(21)}).include, (std::vector<bool>{false, true}));

  context = client.next(id, 3);
  auto moved_start = at(21);
  moved_start.log_start_offset = 7;
  auto preferred = at(10);
  preferred.has_preferred_replica = true;
  EXPECT_EQ(sessions.finish(client.now, context, {preferred, moved_start}).include, (std::vector<bool>{true, true}));

  context = client.next(id, 4);
  auto diverging = at(10);
  diverging.has_diverging_epoch = true;
  moved_start.has_records = false;
  EXPECT_EQ(sessions.finish(client.now, context, {diverging, moved_start}).include, (std::vector<bool>{true, false}));
}

TEST(FetchSession, ErrorIsToldAgainUntilItIsGoneAndThenTheRecoveryOnce) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const int32_t id = client.new_session({"a"});
  FetchResult error = at(-1);
  error.error = ErrorCode::NOT_LEADER_OR_FOLLOWER;
  EXPECT_TRUE(client.finish(client.next(id, 1), error).include[0]);
  EXPECT_TRUE(client.finish(client.next(id, 2), error).include[0]);
  EXPECT_TRUE(client.finish(client.next(id, 3), at(10)).include[0]);
  EXPECT_FALSE(client.finish(client.next(id, 4), at(10)).include[0]);
}

TEST(FetchSession, PartitionsThatGaveDataGoToTheEnd) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const int32_t id = client.new_session({"a", "b", "c"});
  sessions.finish(client.now, client.next(id, 1), {at(1, true), at(1), at(1)});
  EXPECT_EQ(Client::names(client.next(id, 2)), "b c a ");
}

TEST(FetchSession, RequestAddsChangesAndForgets) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const int32_t id = client.new_session({"a", "b"});
  auto request = Client::request(id, 1, {"b", "c"});
  request.topics[0].partitions[0].fetch_offset = 99;
  auto& forgotten = request.forgotten_topics_data.emplace_back();
  forgotten.topic = "a";
  forgotten.partitions = {0, 1};
  const auto context = sessions.open(client.now, by_name, request);
  EXPECT_EQ(Client::names(context), "b c ");
  EXPECT_EQ(context.partitions[0].fetch_offset, 99);
}

TEST(FetchSession, SessionThatForgetsItsLastPartitionIsOver) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const int32_t id = client.new_session({"a"});
  auto request = Client::request(id, 1);
  auto& forgotten = request.forgotten_topics_data.emplace_back();
  forgotten.topic = "a";
  forgotten.partitions = {0};
  const auto context = sessions.open(client.now, by_name, request);
  EXPECT_EQ(context.kind, FetchContext::Kind::ONE_SHOT);
  EXPECT_EQ(client.finish(context).session_id, 0);
  EXPECT_EQ(client.next(id, 2).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(sessions.partition_count(), 0u);
}

TEST(FetchSession, WrongNumbersAreErrorsForTheWholeRequest) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const int32_t id = client.new_session({"a"});
  EXPECT_EQ(client.next(id ^ 1, 1).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(client.next(-7, 1).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(client.next(id, 2).error, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(client.next(id, -2).error, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(sessions.open(client.now, by_id, Client::request(id, 1)).error, ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
  EXPECT_EQ(client.finish(client.next(id, 5)).error, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(client.next(id, 1).error, ErrorCode::NONE);  // none of them has harmed the session
}

TEST(FetchSession, FullRequestClosesTheOldSession) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const int32_t id = client.new_session({"a"});
  const auto renewed = client.next(id, 0, {"b"});
  EXPECT_EQ(renewed.kind, FetchContext::Kind::NEW_SESSION);
  const int32_t second = client.finish(renewed).session_id;
  EXPECT_NE(second, id);
  EXPECT_EQ(client.next(id, 1).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(client.next(second, -1, {"b"}).kind, FetchContext::Kind::ONE_SHOT);
  EXPECT_EQ(sessions.size(), 0u);
}

TEST(FetchSession, AnswerThatALaterRequestOvertookIsAnError) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const int32_t id = client.new_session({"a"});
  const auto waiting = client.next(id, 1);
  const auto later = client.next(id, 2);
  EXPECT_EQ(client.finish(waiting).error, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(sessions.throttled(waiting).error, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(client.finish(later).error, ErrorCode::NONE);
}

TEST(FetchSession, ThrottledAnswerLeavesTheSessionAsItWas) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  const int32_t id = client.new_session({"a"});
  const auto outcome = sessions.throttled(client.next(id, 1));
  EXPECT_EQ(outcome.error, ErrorCode::NONE);
  EXPECT_EQ(outcome.session_id, id);
  EXPECT_EQ(outcome.include, std::vector<bool>{false});
  EXPECT_EQ(client.next(id, 2).error, ErrorCode::NONE);
}

TEST(FetchSession, TopicsAreKeptByTheirIdsFromVersionThirteen) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  auto request = Client::request(0, 0, {"", ""});
  request.topics[0].topic_id = Uuid{0, 7};
  request.topics[1].topic_id = Uuid{0, 8};
  const auto context = sessions.open(client.now, by_id, request);
  ASSERT_EQ(context.partitions.size(), 2u);
  EXPECT_EQ(context.partitions[1].key.topic_id, (Uuid{0, 8}));
  const int32_t id = client.finish(context).session_id;
  EXPECT_EQ(sessions.open(client.now, by_id, Client::request(id, 1)).partitions.size(), 2u);
}

TEST(FetchSession, PartitionNamedTwiceIsReadOnceAsTheLastSays) {
  FetchSessions sessions(10, 1);
  Client client{sessions};
  auto request = Client::request(0, -1, {"a", "a"});
  request.topics[1].partitions[0].fetch_offset = 8;
  const auto context = sessions.open(client.now, by_name, request);
  ASSERT_EQ(context.partitions.size(), 1u);
  EXPECT_EQ(context.partitions[0].fetch_offset, 8);
}

TEST(FetchSession, FullCacheServesWithoutASession) {
  FetchSessions sessions(2, 1);
  Client client{sessions};
  const int32_t first = client.new_session({"a"});
  client.new_session({"a"});
  EXPECT_EQ(client.new_session({"a", "b", "c"}), 0);  // both are young
  EXPECT_EQ(client.next(first, 1).error, ErrorCode::NONE);
}

TEST(FetchSession, UnusedSessionMakesRoom) {
  FetchSessions sessions(1, 1);
  Client client{sessions};
  const int32_t first = client.new_session({"a", "b"});
  client.now = client.now + FetchSessions::eviction_age;
  EXPECT_EQ(client.new_session({"a"}), 0);
  client.now = client.now + Duration(1);
  EXPECT_NE(client.new_session({"a"}), 0);
  EXPECT_EQ(client.next(first, 1).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(sessions.evictions(), 1u);
}

TEST(FetchSession, OldOneInUseGivesWayToALargerOne) {
  FetchSessions sessions(1, 1);
  Client client{sessions};
  const int32_t first = client.new_session({"a", "b"});
  client.now = client.now + FetchSessions::eviction_age;
  client.finish(client.next(first, 1));
  client.now = client.now + Duration(1'000'000);
  client.finish(client.next(first, 2));
  EXPECT_EQ(client.new_session({"a"}), 0);
  EXPECT_NE(client.new_session({"a", "b", "c"}), 0);
}

TEST(FetchSession, FollowerTakesTheSlotOfAConsumer) {
  FetchSessions sessions(1, 1);
  Client client{sessions};
  client.new_session({"a", "b"});
  auto request = Client::request(0, 0, {"a"});
  request.replica_id = 3;
  const auto follower = sessions.open(client.now, by_name, request);
  EXPECT_TRUE(follower.is_follower);
  EXPECT_NE(client.finish(follower).session_id, 0);
  EXPECT_EQ(client.new_session({"a", "b", "c"}), 0);
}

TEST(FetchSession, EvictedSessionStillAnswersTheRequestThatWaits) {
  FetchSessions sessions(1, 1);
  Client client{sessions};
  const int32_t id = client.new_session({"a"});
  const auto waiting = client.next(id, 1);
  client.now = client.now + FetchSessions::eviction_age + Duration(1);
  client.new_session({"b"});
  EXPECT_EQ(client.finish(waiting, at(3)).include, std::vector<bool>{true});
}

}  // namespace
}  // namespace castellan::partition

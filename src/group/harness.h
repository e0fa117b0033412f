// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// For tests: a shard with a log of its own, a clock that stands still until it is moved, and requests as a client library
// makes them.

#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "group/shard.h"

namespace castellan::group::testing {

struct Harness {
  explicit Harness(Configuration configuration = {}) : shard(configuration, 42) {
    now.monotonic.nanoseconds = 1'000'000'000'000;
    now.wall.milliseconds = 1'700'000'000'000;
  }

  // Without the delay for the first members, which most tests are not about.
  static Configuration without_delay() {
    Configuration configuration;
    configuration.initial_rebalance_delay = std::chrono::milliseconds(0);
    return configuration;
  }

  Shard shard;
  Now now;
  bool appends_at_once = true;  // else they wait in `appends`
  bool commits_at_once = true;  // else commit() moves the high watermark
  std::deque<Append> appends;
  std::vector<Record> log;
  std::map<Token, ResponseBody> replies;
  std::set<Token> answered;  // each token once
  Token last_token = 0;

  void finish_loading() {
    shard.finish_loading(now);
    perform();
  }

  void perform() {
    for (bool again = true; again;) {
      again = false;
      for (Action& action : shard.take_actions()) {
        if (auto* reply = std::get_if<Reply>(&action)) {
          EXPECT_TRUE(answered.insert(reply->token).second) << "token " << reply->token << " answered twice";
          replies[reply->token] = std::move(reply->response);
        } else {
          appends.push_back(std::move(std::get<Append>(action)));
        }
      }
      if (appends_at_once && !appends.empty()) {
        write_next();
        again = true;
      }
    }
  }

  // Writes the append that waits.
  void write_next() {
    ASSERT_FALSE(appends.empty());
    Append append = std::move(appends.front());
    appends.pop_front();
    const auto base = static_cast<int64_t>(log.size());
    for (Record& record : append.records) log.push_back(std::move(record));
    shard.step(now, Appended{append.id, base});
    if (commits_at_once) shard.step(now, CommittedUpTo{static_cast<int64_t>(log.size())});
  }

  void fail_next(ErrorCode error) {
    ASSERT_FALSE(appends.empty());
    const uint64_t id = appends.front().id;
    appends.pop_front();
    shard.step(now, Appended{id, fail(error, "the test says so")});
    perform();
  }

  void commit() {
    shard.step(now, CommittedUpTo{static_cast<int64_t>(log.size())});
    perform();
  }

  // Moves both clocks, stopping at each deadline on the way.
  void advance(int64_t milliseconds) {
    const MonotonicTime end = now.monotonic + std::chrono::milliseconds(milliseconds);
    const int64_t start = now.monotonic.nanoseconds;
    const int64_t wall = now.wall.milliseconds;
    while (shard.next_deadline() <= end) {
      now.monotonic = std::max(now.monotonic, shard.next_deadline());
      now.wall.milliseconds = wall + (now.monotonic.nanoseconds - start) / 1'000'000;
      shard.step(now, Tick{});
      perform();
    }
    now.monotonic = end;
    now.wall.milliseconds = wall + milliseconds;
  }

  Token send(RequestBody body, int16_t version, const std::string& client_id = "client") {
    const Token token = ++last_token;
    shard.step(now, Request{token, version, client_id, "/127.0.0.1", std::move(body)});
    perform();
    return token;
  }

  template <class R>
  const R& reply(Token token) {
    static const R none{};
    const auto found = replies.find(token);
    EXPECT_NE(found, replies.end()) << "token " << token << " is not answered";
    return found == replies.end() ? none : std::get<R>(found->second);
  }
  bool is_answered(Token token) const { return replies.contains(token); }

  // A shard that has read this one's log, as after a change of leader.
  void reload_into(Harness& other) const {
    int64_t offset = 0;
    for (const Record& record : log) {
      Shard::LoadedRecord loaded;
      loaded.offset = offset++;
      loaded.key = record.key;
      if (record.value) loaded.value = *record.value;
      const auto result = other.shard.load(loaded, now.wall);
      EXPECT_TRUE(result.has_value()) << result.error().message;
    }
    other.log = log;
    other.now = now;
    other.finish_loading();
  }

  // --- the classic protocol

  wire::JoinGroupRequest join_request(const std::string& group, const std::string& member = "", std::optional<std::string> instance = {}) {
    wire::JoinGroupRequest request;
    request.group_id = group;
    request.member_id = member;
    request.group_instance_id = std::move(instance);
    request.session_timeout_ms = 30'000;
    request.rebalance_timeout_ms = 20'000;
    request.protocol_type = "consumer";
    request.protocols.push_back(protocol("range", "sub"));
    return request;
  }

  static Protocol protocol(const std::string& name, const std::string& metadata) {
    Protocol result;
    result.name = name;
    result.metadata = to_bytes(metadata);
    return result;
  }

  // A subscription that can be read, to these topics.
  static Bytes subscription(const std::vector<std::string>& topics) {
    Bytes bytes{0, 0, 0, 0, 0, static_cast<uint8_t>(topics.size())};
    for (const auto& topic : topics) {
      bytes.insert(bytes.end(), {0, static_cast<uint8_t>(topic.size())});
      bytes.insert(bytes.end(), topic.begin(), topic.end());
    }
    bytes.insert(bytes.end(), {0xff, 0xff, 0xff, 0xff});
    return bytes;
  }

  Token sync(const std::string& group, const std::string& member, int32_t generation, const std::map<std::string, std::string>& assignments = {},
             std::optional<std::string> instance = {}) {
    wire::SyncGroupRequest request;
    request.group_id = group;
    request.member_id = member;
    request.generation_id = generation;
    request.group_instance_id = std::move(instance);
    request.protocol_type = "consumer";
    request.protocol_name = "range";
    for (const auto& [id, assignment] : assignments) {
      auto& entry = request.assignments.emplace_back();
      entry.member_id = id;
      entry.assignment = to_bytes(assignment);
    }
    return send(request, 5);
  }

  ErrorCode heartbeat(const std::string& group, const std::string& member, int32_t generation, std::optional<std::string> instance = {}) {
    wire::HeartbeatRequest request;
    request.group_id = group;
    request.member_id = member;
    request.generation_id = generation;
    request.group_instance_id = std::move(instance);
    return error(reply<wire::HeartbeatResponse>(send(request, 4)).error_code);
  }

  wire::LeaveGroupResponse leave(const std::string& group, const std::string& member, std::optional<std::string> instance = {}) {
    wire::LeaveGroupRequest request;
    request.group_id = group;
    auto& identity = request.members.emplace_back();
    identity.member_id = member;
    identity.group_instance_id = std::move(instance);
    return reply<wire::LeaveGroupResponse>(send(request, 5));
  }

  static wire::OffsetCommitRequest commit_request(const std::string& group, const std::string& member, int32_t generation, int64_t offset,
                                                  const std::string& metadata = "m", const std::string& topic = "t", int32_t partition = 0) {
    wire::OffsetCommitRequest request;
    request.group_id = group;
    request.member_id = member;
    request.generation_id_or_member_epoch = generation;
    auto& entry = request.topics.emplace_back();
    entry.name = topic;
    entry.topic_id = Uuid{1, 2};
    auto& part = entry.partitions.emplace_back();
    part.partition_index = partition;
    part.committed_offset = offset;
    part.committed_leader_epoch = 3;
    part.committed_metadata = metadata;
    return request;
  }

  ErrorCode commit_offset(const std::string& group, const std::string& member, int32_t generation, int64_t offset, int16_t version = 9) {
    const Token token = send(commit_request(group, member, generation, offset), version);
    return error(reply<wire::OffsetCommitResponse>(token).topics.at(0).partitions.at(0).error_code);
  }

  // The committed offset of t-0, or -1.
  int64_t fetch_offset(const std::string& group, bool stable = false) {
    OffsetFetch fetch;
    fetch.require_stable = stable;
    fetch.group.group_id = group;
    auto& topic = fetch.group.topics.emplace().emplace_back();
    topic.name = "t";
    topic.partition_indexes = {0};
    const auto& group_reply = reply<wire::OffsetFetchResponse::OffsetFetchResponseGroup>(send(fetch, 9));
    return group_reply.topics.at(0).partitions.at(0).committed_offset;
  }

  wire::DescribeGroupsResponse::DescribedGroup describe(const std::string& group, int16_t version = 6) {
    return reply<wire::DescribeGroupsResponse>(send(DescribeGroups{{group}}, version)).groups.at(0);
  }

  ErrorCode delete_group(const std::string& group) {
    return error(reply<wire::DeleteGroupsResponse>(send(DeleteGroups{{group}}, 2)).results.at(0).error_code);
  }

  static ErrorCode error(int16_t code) { return static_cast<ErrorCode>(code); }

  // Joins as version 9 does, with the round trip for a member id; the answer may have to wait.
  struct Joining {
    std::string member;
    Token token = 0;
  };
  Joining begin_join(const std::string& group, const std::string& client = "client", std::optional<wire::JoinGroupRequest> request = {}) {
    if (!request) request = join_request(group);
    const auto refused = reply<wire::JoinGroupResponse>(send(*request, 9, client));
    EXPECT_EQ(error(refused.error_code), ErrorCode::MEMBER_ID_REQUIRED);
    request->member_id = refused.member_id;
    return {refused.member_id, send(*request, 9, client)};
  }

  // A group with one member in generation 1; answers the member's id.
  std::string stable_group(const std::string& group) {
    const Joining joining = begin_join(group);
    EXPECT_EQ(reply<wire::JoinGroupResponse>(joining.token).error_code, 0);
    EXPECT_EQ(reply<wire::SyncGroupResponse>(sync(group, joining.member, 1, {{joining.member, "all"}})).error_code, 0);
    return joining.member;
  }
};

}  // namespace castellan::group::testing

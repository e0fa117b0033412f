// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/rpc.h"

#include <gtest/gtest.h>

#include "raft/control_records.h"
#include "record/builder.h"

namespace castellan::raft {
namespace {

const DirectoryId directory_1{Uuid{1, 1}}, directory_2{Uuid{1, 2}};

template <class T>
T round_trip(const T& request, int16_t version) {
  const auto bytes = encode_request(request, version);
  EXPECT_TRUE(bytes) << bytes.error().message;
  const auto decoded = decode_request(api_key_of(request), version, *bytes);
  EXPECT_TRUE(decoded) << decoded.error().message;
  return std::get<T>(*decoded);
}

template <class T>
T answer_round_trip(const T& response, int16_t key, int16_t version) {
  const auto bytes = encode_response(key, version, response);
  EXPECT_TRUE(bytes) << bytes.error().message;
  const auto decoded = decode_response(key, version, *bytes);
  EXPECT_TRUE(decoded) << decoded.error().message;
  return std::get<T>(*decoded);
}

TEST(Rpc, a_vote_says_the_same_on_both_sides) {
  const VoteRequest vote{.head = {.cluster_id = "c"}, .epoch = Epoch{5}, .replica = {NodeId{1}, directory_1}, .voter = {NodeId{2}, directory_2},
                         .last = {Offset{9}, Epoch{4}}, .pre_vote = true};
  const VoteRequest got = round_trip(vote, 2);
  EXPECT_EQ(got.head.cluster_id, "c");
  EXPECT_EQ(got.head.target, Target::metadata_partition);
  EXPECT_EQ(got.epoch, vote.epoch);
  EXPECT_EQ(got.replica, vote.replica);
  EXPECT_EQ(got.voter, vote.voter);
  EXPECT_EQ(got.last, vote.last);
  EXPECT_TRUE(got.pre_vote);
  // A version without pre-votes cannot say it, and must not say a vote instead (R91).
  EXPECT_FALSE(encode_request(vote, 1));
}

TEST(Rpc, a_fetch_carries_its_replica_in_either_place) {
  const FetchRequest fetch{.head = {.cluster_id = "c"}, .epoch = Epoch{5}, .replica = {NodeId{7}, directory_1}, .at = {Offset{9}, Epoch{4}}, .high_watermark = 8,
                           .max_wait_ms = 500, .max_bytes = 100};
  const FetchRequest got = round_trip(fetch, 18);
  EXPECT_EQ(got.replica, fetch.replica);
  EXPECT_EQ(got.at, fetch.at);
  EXPECT_EQ(got.high_watermark, 8);
  const FetchRequest old = round_trip(fetch, 14);
  EXPECT_EQ(old.replica.id, NodeId{7});
  EXPECT_FALSE(old.replica.has_directory());
  EXPECT_EQ(old.high_watermark, high_watermark_untold);
  // Before topic ids nobody can name the metadata partition.
  EXPECT_EQ(round_trip(fetch, 12).head.target, Target::malformed);
}

TEST(Rpc, end_quorum_epoch_of_version_0_names_successors_by_id) {
  EndQuorumEpochRequest end{.head = {}, .epoch = Epoch{5}, .leader = NodeId{1}, .preferred_candidates = {{NodeId{2}, directory_2}}, .leader_endpoints = {}};
  EXPECT_EQ(round_trip(end, 1).preferred_candidates.at(0), (ReplicaKey{NodeId{2}, directory_2}));
  EXPECT_EQ(round_trip(end, 0).preferred_candidates.at(0), (ReplicaKey{NodeId{2}, {}}));
}

TEST(Rpc, a_response_brings_the_leader_and_its_endpoint) {
  const ResponseHead head{.error = ErrorCode::NOT_LEADER_OR_FOLLOWER, .epoch = Epoch{5}, .leader = NodeId{3},
                          .leader_endpoint = LeaderEndpoint{NodeId{3}, {"host3", 9093}}};
  const auto vote = answer_round_trip(VoteResponse{head, false}, 52, 2);
  EXPECT_EQ(vote.head.leader_endpoint, head.leader_endpoint);
  EXPECT_EQ(vote.head.epoch, Epoch{5});
  EXPECT_EQ(answer_round_trip(VoteResponse{head, false}, 52, 0).head.leader_endpoint, std::nullopt);
  EXPECT_EQ(answer_round_trip(FetchResponse{.head = head}, 1, 17).head.leader_endpoint, head.leader_endpoint);
  EXPECT_EQ(answer_round_trip(FetchResponse{.head = head}, 1, 16).head.leader_endpoint, std::nullopt);
}

TEST(Rpc, a_fetch_response_brings_records_or_where_to_go) {
  FetchResponse response{.head = {.epoch = Epoch{5}, .leader = NodeId{3}}, .high_watermark = 4, .log_start = Offset{0}};
  record::BatchBuilder builder({.base_offset = 3, .leader_epoch = 5});
  builder.append(0, std::nullopt, as_bytes("x"));
  response.records = builder.finish();
  EXPECT_EQ(answer_round_trip(response, 1, 18).records, response.records);
  response.records.clear();
  response.diverging = LogPosition{Offset{2}, Epoch{1}};
  EXPECT_EQ(answer_round_trip(response, 1, 18).diverging, response.diverging);
  response.diverging.reset();
  response.snapshot = SnapshotId{Offset{2}, Epoch{1}};
  EXPECT_EQ(answer_round_trip(response, 1, 18).snapshot, response.snapshot);
}

TEST(Rpc, a_refusal_of_the_whole_request_has_no_partition) {
  const auto vote = answer_round_trip(VoteResponse{{.error_top = ErrorCode::INCONSISTENT_CLUSTER_ID}, false}, 52, 2);
  EXPECT_EQ(vote.head.error_top, ErrorCode::INCONSISTENT_CLUSTER_ID);
}

TEST(Rpc, bytes_that_are_no_message_are_an_error) {
  for (const int16_t key : {1, 52, 53, 54, 55, 59, 80, 81, 82}) {
    EXPECT_FALSE(decode_request(key, 0, Bytes{0xff, 0x01})) << key;
  }
  EXPECT_FALSE(decode_request(3, 0, {}));
}

TEST(ControlRecords, are_read_back_as_they_were_written) {
  const VoterSet voters({{.key = {NodeId{1}, directory_1}, .endpoints = {{"CONTROLLER", {"host1", 9093}}}, .kraft_version = kraft_versions}});
  const ControlRecords records{.leader_change = LeaderChange{NodeId{1}, {NodeId{1}}, {NodeId{1}}}, .kraft_version = 1, .voters = voters};
  const Bytes bytes = encode_control_batch(Offset{10}, Epoch{3}, WallTime{1000}, records);
  int batches = 0;
  ASSERT_TRUE(scan_batches(bytes, [&](const BatchSummary& batch) {
    ++batches;
    EXPECT_EQ(batch.base, Offset{10});
    EXPECT_EQ(batch.end, Offset{13});
    EXPECT_EQ(batch.epoch, Epoch{3});
    EXPECT_EQ(batch.control->leader_change, records.leader_change);
    EXPECT_EQ(batch.control->kraft_version_offset, Offset{11});
    EXPECT_EQ(batch.control->voters, voters);
    EXPECT_EQ(batch.control->voters_offset, Offset{12});
    return true;
  }));
  EXPECT_EQ(batches, 1);
  Bytes damaged = bytes;
  damaged.back() ^= 1;
  EXPECT_FALSE(scan_batches(damaged, [](const BatchSummary&) { return true; }));
}

}  // namespace
}  // namespace castellan::raft

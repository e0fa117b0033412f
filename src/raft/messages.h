// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The quorum's requests and responses as flat structs: what Kafka's messages say about the one partition that this protocol
// is about, without its topics and partitions arrays. rpc.h translates to and from the wire.
//
// Every response has the same head. `error` is the partition's error code and `error_top` that of the whole response: a peer
// treats them differently.

#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/error_code.h"
#include "base/time.h"
#include "raft/types.h"
#include "raft/voters.h"

namespace castellan::raft {

// Whether a request named exactly the metadata partition. The rule is checked after the cluster id, so it travels with the
// request instead of refusing it at the door.
enum class Target : uint8_t {
  metadata_partition,
  malformed,  // not exactly one topic with one partition
  other,      // another topic or partition
};

struct RequestHead {
  std::optional<std::string> cluster_id;
  Target target = Target::metadata_partition;

  friend bool operator==(const RequestHead&, const RequestHead&) = default;
};

struct VoteRequest {
  RequestHead head;
  Epoch epoch;
  ReplicaKey replica;  // who asks
  ReplicaKey voter;    // who is asked; id -1: whoever receives it
  LogPosition last;    // end of the asking replica's log
  bool pre_vote = false;
};

struct BeginQuorumEpochRequest {
  RequestHead head;
  Epoch epoch;
  NodeId leader = no_node;
  ReplicaKey voter;
  Endpoints leader_endpoints;
};

struct EndQuorumEpochRequest {
  RequestHead head;
  Epoch epoch;
  NodeId leader = no_node;
  std::vector<ReplicaKey> preferred_candidates;
  Endpoints leader_endpoints;
};

// A follower that cannot tell its high watermark says this; it gets no early answers for it (versions before 18).
inline constexpr int64_t high_watermark_untold = INT64_MAX;

struct FetchRequest {
  RequestHead head;
  Epoch epoch;
  ReplicaKey replica;  // id -1: somebody who only reads
  LogPosition at;      // fetch offset and last fetched epoch
  int64_t high_watermark = -1;
  int32_t max_wait_ms = 0;
  int32_t max_bytes = 0;
};

struct FetchSnapshotRequest {
  RequestHead head;
  Epoch epoch;
  ReplicaKey replica;
  SnapshotId snapshot;
  int64_t position = 0;
  int32_t max_bytes = 0;
  std::string topic = std::string(metadata_topic_name);  // as asked for, for the answer to a wrong one
  int32_t partition = 0;
};

struct AskedPartitions {
  std::string topic;
  std::vector<int32_t> partitions;
};

struct DescribeQuorumRequest {
  Target target = Target::metadata_partition;
  std::vector<AskedPartitions> asked;
};

struct AddVoterRequest {
  RequestHead head;
  Voter voter;  // the version range is the leader's to find out
  bool ack_when_committed = true;
};

struct RemoveVoterRequest {
  RequestHead head;
  ReplicaKey voter;
};

struct UpdateVoterRequest {
  RequestHead head;
  Epoch epoch;
  Voter voter;
};

// What the leader asks of a replica that is to become a voter.
struct ApiVersionsRequest {};

struct LeaderEndpoint {
  NodeId id = no_node;
  Endpoint endpoint;

  friend bool operator==(const LeaderEndpoint&, const LeaderEndpoint&) = default;
};

struct ResponseHead {
  ErrorCode error_top = ErrorCode::NONE;
  ErrorCode error = ErrorCode::NONE;
  Epoch epoch;  // of the node that answers
  NodeId leader = no_node;
  std::optional<LeaderEndpoint> leader_endpoint;  // on the listener that the request came by
};

struct VoteResponse {
  ResponseHead head;
  bool granted = false;
};

struct BeginQuorumEpochResponse {
  ResponseHead head;
};

struct EndQuorumEpochResponse {
  ResponseHead head;
};

struct FetchResponse {
  ResponseHead head;
  int64_t high_watermark = -1;
  Offset log_start{-1};
  std::optional<LogPosition> diverging;
  std::optional<SnapshotId> snapshot;
  Bytes records;
};

struct FetchSnapshotResponse {
  ResponseHead head;
  SnapshotId snapshot{Offset{0}, Epoch{0}};
  int64_t size = 0;
  int64_t position = 0;
  Bytes bytes;
  std::string topic = std::string(metadata_topic_name);
  int32_t partition = 0;
};

struct ReplicaDescription {
  ReplicaKey key;
  int64_t log_end = -1;
  int64_t last_fetch_ms = -1;
  int64_t last_caught_up_ms = -1;

  friend bool operator==(const ReplicaDescription&, const ReplicaDescription&) = default;
};

struct DescribeQuorumResponse {
  ResponseHead head;
  std::vector<AskedPartitions> unknown;  // what was asked for instead of the metadata partition
  int64_t high_watermark = -1;
  std::vector<ReplicaDescription> voters;
  std::vector<ReplicaDescription> observers;
  VoterSet nodes;
  std::string note;  // a voter change that is under way; goes where an error's message would
};

// Add, remove and update of a voter.
struct VoterChangeResponse {
  ResponseHead head;  // only error_top is sent, and the leader for an update
  std::string message;
};

struct ApiVersionsResponse {
  ErrorCode error = ErrorCode::NONE;
  std::optional<VersionRange> kraft_version;
};

// The request was not answered: NETWORK_EXCEPTION, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION (the peer cannot say it).
struct NoResponse {
  ErrorCode error = ErrorCode::NETWORK_EXCEPTION;
};

using RequestBody = std::variant<VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest, FetchSnapshotRequest,
                                 DescribeQuorumRequest, AddVoterRequest, RemoveVoterRequest, UpdateVoterRequest, ApiVersionsRequest>;
using ResponseBody = std::variant<VoteResponse, BeginQuorumEpochResponse, EndQuorumEpochResponse, FetchResponse, FetchSnapshotResponse,
                                  DescribeQuorumResponse, VoterChangeResponse, ApiVersionsResponse, NoResponse>;

}  // namespace castellan::raft

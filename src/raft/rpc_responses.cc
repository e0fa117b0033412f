// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Responses, both ways.

#include "raft/control_records.h"
#include "raft/rpc.h"
#include "wire/api_key.h"
#include "wire/codec.h"
#include "wire/messages/add_raft_voter_response.h"
#include "wire/messages/api_versions_response.h"
#include "wire/messages/begin_quorum_epoch_response.h"
#include "wire/messages/describe_quorum_response.h"
#include "wire/messages/end_quorum_epoch_response.h"
#include "wire/messages/fetch_response.h"
#include "wire/messages/fetch_snapshot_response.h"
#include "wire/messages/remove_raft_voter_response.h"
#include "wire/messages/update_raft_voter_response.h"
#include "wire/messages/vote_response.h"

namespace castellan::raft {
namespace {

using wire::ApiKey;

int16_t number(ErrorCode error) { return static_cast<int16_t>(error); }

// One partition of one topic, unless the whole request was refused. Answers the partition to fill in.
template <class Message>
auto* begin_response(Message& out, const ResponseHead& head, int16_t version) {
  out.error_code = number(head.error_top);
  using Partition = typename Message::PartitionData;
  Partition* partition = nullptr;
  if (head.error_top != ErrorCode::NONE) return partition;
  auto& topic = out.topics.emplace_back();
  topic.topic_name = metadata_topic_name;
  partition = &topic.partitions.emplace_back();
  partition->error_code = number(head.error);
  partition->leader_id = head.leader.value;
  partition->leader_epoch = head.epoch.value;
  if (version >= 1 && head.leader_endpoint) {
    auto& endpoint = out.node_endpoints.emplace_back();
    endpoint.node_id = head.leader_endpoint->id.value;
    endpoint.host = head.leader_endpoint->endpoint.host;
    endpoint.port = head.leader_endpoint->endpoint.port;
  }
  return partition;
}

Result<Bytes> to_wire(const VoteResponse& in, int16_t version) {
  wire::VoteResponse out;
  if (auto* partition = begin_response(out, in.head, version)) partition->vote_granted = in.granted;
  return wire::encode_to_bytes(out, version);
}

Result<Bytes> to_wire(const BeginQuorumEpochResponse& in, int16_t version) {
  wire::BeginQuorumEpochResponse out;
  begin_response(out, in.head, version);
  return wire::encode_to_bytes(out, version);
}

Result<Bytes> to_wire(const EndQuorumEpochResponse& in, int16_t version) {
  wire::EndQuorumEpochResponse out;
  begin_response(out, in.head, version);
  return wire::encode_to_bytes(out, version);
}

Result<Bytes> to_wire(const FetchResponse& in, int16_t version) {
  wire::FetchResponse out;
  out.error_code = number(in.head.error_top);
  if (in.head.error_top != ErrorCode::NONE) return wire::encode_to_bytes(out, version);
  auto& topic = out.responses.emplace_back();
  topic.topic = metadata_topic_name;
  topic.topic_id = metadata_topic_id.value;
  auto& partition = topic.partitions.emplace_back();
  partition.error_code = number(in.head.error);
  partition.high_watermark = in.high_watermark;
  partition.log_start_offset = in.log_start.value;
  partition.current_leader.leader_id = in.head.leader.value;
  partition.current_leader.leader_epoch = in.head.epoch.value;
  if (in.diverging) {
    partition.diverging_epoch.epoch = in.diverging->epoch.value;
    partition.diverging_epoch.end_offset = in.diverging->offset.value;
  }
  if (in.snapshot) {
    partition.snapshot_id.epoch = in.snapshot->epoch.value;
    partition.snapshot_id.end_offset = in.snapshot->offset.value;
  }
  partition.records = wire::Records::of(in.records);
  if (version >= 17 && in.head.leader_endpoint) {
    auto& endpoint = out.node_endpoints.emplace_back();
    endpoint.node_id = in.head.leader_endpoint->id.value;
    endpoint.host = in.head.leader_endpoint->endpoint.host;
    endpoint.port = in.head.leader_endpoint->endpoint.port;
  }
  return wire::encode_to_bytes(out, version);
}

Result<Bytes> to_wire(const FetchSnapshotResponse& in, int16_t version) {
  wire::FetchSnapshotResponse out;
  out.error_code = number(in.head.error_top);
  if (in.head.error_top != ErrorCode::NONE) return wire::encode_to_bytes(out, version);
  auto& topic = out.topics.emplace_back();
  topic.name = in.topic;
  auto& partition = topic.partitions.emplace_back();
  partition.index = in.partition;
  partition.error_code = number(in.head.error);
  partition.snapshot_id.end_offset = in.snapshot.offset.value;
  partition.snapshot_id.epoch = in.snapshot.epoch.value;
  if (in.head.error != ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) {
    partition.current_leader.leader_id = in.head.leader.value;
    partition.current_leader.leader_epoch = in.head.epoch.value;
  }
  partition.size = in.size;
  partition.position = in.position;
  partition.unaligned_records = wire::Records::of(in.bytes);
  if (version >= 1 && in.head.leader_endpoint) {
    auto& endpoint = out.node_endpoints.emplace_back();
    endpoint.node_id = in.head.leader_endpoint->id.value;
    endpoint.host = in.head.leader_endpoint->endpoint.host;
    endpoint.port = in.head.leader_endpoint->endpoint.port;
  }
  return wire::encode_to_bytes(out, version);
}

// What Kafka says with the code in this one response; the top level has the empty string.
std::string describe_error_message(ErrorCode error) {
  switch (error) {
    case ErrorCode::NOT_LEADER_OR_FOLLOWER:
      return "For requests intended only for the leader, this error indicates that the broker is not the current leader. "
             "For requests intended for any replica, this error indicates that the broker is not a replica of the topic partition.";
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION:
      return "This server does not host this topic-partition.";
    default:
      return "";
  }
}

void add_replicas(std::vector<wire::DescribeQuorumResponse::ReplicaState>& out, const std::vector<ReplicaDescription>& replicas, int16_t version) {
  for (const ReplicaDescription& replica : replicas) {
    auto& state = out.emplace_back();
    state.replica_id = replica.key.id.value;
    if (version >= 2) state.replica_directory_id = replica.key.directory.value;
    state.log_end_offset = replica.log_end;
    state.last_fetch_timestamp = replica.last_fetch_ms;
    state.last_caught_up_timestamp = replica.last_caught_up_ms;
  }
}

Result<Bytes> to_wire(const DescribeQuorumResponse& in, int16_t version) {
  wire::DescribeQuorumResponse out;
  if (in.head.error == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) {
    for (const AskedPartitions& asked : in.unknown) {
      auto& topic = out.topics.emplace_back();
      topic.topic_name = asked.topic;
      for (const int32_t index : asked.partitions) {
        auto& partition = topic.partitions.emplace_back();
        partition.partition_index = index;
        partition.error_code = number(in.head.error);
        partition.error_message = describe_error_message(in.head.error);
      }
    }
    return wire::encode_to_bytes(out, version);
  }
  auto& topic = out.topics.emplace_back();
  topic.topic_name = metadata_topic_name;
  auto& partition = topic.partitions.emplace_back();
  partition.error_code = number(in.head.error);
  if (in.head.error != ErrorCode::NONE) {
    partition.error_message = describe_error_message(in.head.error);
    return wire::encode_to_bytes(out, version);
  }
  // Clients do not look at the message of a success; our own describe does.
  if (!in.note.empty()) partition.error_message = in.note;
  partition.leader_id = in.head.leader.value;
  partition.leader_epoch = in.head.epoch.value;
  partition.high_watermark = in.high_watermark;
  add_replicas(partition.current_voters, in.voters, version);
  add_replicas(partition.observers, in.observers, version);
  for (const auto& [id, voter] : in.nodes) {
    if (version < 2) break;
    auto& node = out.nodes.emplace_back();
    node.node_id = id.value;
    for (const auto& [name, endpoint] : voter.endpoints) {
      auto& listener = node.listeners.emplace_back();
      listener.name = name;
      listener.host = endpoint.host;
      listener.port = endpoint.port;
    }
  }
  return wire::encode_to_bytes(out, version);
}

template <class Message>
Result<Bytes> change_to_wire(const VoterChangeResponse& in, int16_t version) {
  Message out;
  out.error_code = number(in.head.error_top);
  out.error_message = in.head.error_top == ErrorCode::NONE ? std::nullopt : std::optional(in.message);
  return wire::encode_to_bytes(out, version);
}

Result<Bytes> update_to_wire(const VoterChangeResponse& in, int16_t version) {
  wire::UpdateRaftVoterResponse out;
  out.error_code = number(in.head.error_top);
  if (in.head.leader_endpoint || in.head.epoch.value > 0) {
    out.current_leader.leader_id = in.head.leader.value;
    out.current_leader.leader_epoch = in.head.epoch.value;
  }
  if (in.head.leader_endpoint) {
    out.current_leader.host = in.head.leader_endpoint->endpoint.host;
    out.current_leader.port = in.head.leader_endpoint->endpoint.port;
  }
  return wire::encode_to_bytes(out, version);
}

template <class Endpoints>
void take_leader_endpoint(ResponseHead& head, const Endpoints& endpoints) {
  for (const auto& endpoint : endpoints) {
    if (endpoint.node_id == head.leader.value && endpoint.port >= 0 && endpoint.port <= 65535) {
      head.leader_endpoint = LeaderEndpoint{head.leader, {endpoint.host, static_cast<uint16_t>(endpoint.port)}};
    }
  }
}

// A response without exactly one topic and partition is a failed one (R80).
constexpr ErrorCode malformed = ErrorCode::UNKNOWN_SERVER_ERROR;

template <class Message>
const auto* read_head(const Message& in, ResponseHead& head) {
  head.error_top = static_cast<ErrorCode>(in.error_code);
  const bool one = in.topics.size() == 1 && in.topics[0].partitions.size() == 1;
  const auto* partition = one ? &in.topics[0].partitions[0] : nullptr;
  if (!one) {
    if (head.error_top == ErrorCode::NONE) head.error_top = malformed;
    return partition;
  }
  head.error = static_cast<ErrorCode>(partition->error_code);
  head.leader = NodeId{partition->leader_id};
  head.epoch = Epoch{partition->leader_epoch};
  take_leader_endpoint(head, in.node_endpoints);
  return partition;
}

template <class Flat, class Message>
Result<ResponseBody> from_simple(int16_t version, BytesView body) {
  wire::Reader reader(body);
  TRY(const auto in, wire::decode_as<Message>(version, reader));
  Flat out;
  read_head(in, out.head);
  return out;
}

Result<ResponseBody> from_vote(int16_t version, BytesView body) {
  wire::Reader reader(body);
  TRY(const auto in, wire::decode_as<wire::VoteResponse>(version, reader));
  VoteResponse out;
  if (const auto* partition = read_head(in, out.head)) out.granted = partition->vote_granted;
  return out;
}

Result<ResponseBody> from_fetch(int16_t version, BytesView body) {
  wire::Reader reader(body);
  TRY(const auto in, wire::decode_as<wire::FetchResponse>(version, reader));
  FetchResponse out;
  out.head.error_top = static_cast<ErrorCode>(in.error_code);
  if (in.responses.size() != 1 || in.responses[0].partitions.size() != 1) {
    if (out.head.error_top == ErrorCode::NONE) out.head.error_top = malformed;
    return out;
  }
  const auto& partition = in.responses[0].partitions[0];
  out.head.error = static_cast<ErrorCode>(partition.error_code);
  out.head.leader = NodeId{partition.current_leader.leader_id};
  out.head.epoch = Epoch{partition.current_leader.leader_epoch};
  take_leader_endpoint(out.head, in.node_endpoints);
  out.high_watermark = partition.high_watermark;
  out.log_start = Offset{partition.log_start_offset};
  const auto& diverging = partition.diverging_epoch;
  if (diverging.epoch >= 0 || diverging.end_offset >= 0) out.diverging = LogPosition{Offset{diverging.end_offset}, Epoch{diverging.epoch}};
  const auto& snapshot = partition.snapshot_id;
  if (snapshot.epoch >= 0 || snapshot.end_offset >= 0) out.snapshot = SnapshotId{Offset{snapshot.end_offset}, Epoch{snapshot.epoch}};
  if (!partition.records.is_null) out.records = to_bytes(partition.records.view);
  return out;
}

Result<ResponseBody> from_fetch_snapshot(int16_t version, BytesView body) {
  wire::Reader reader(body);
  TRY(const auto in, wire::decode_as<wire::FetchSnapshotResponse>(version, reader));
  FetchSnapshotResponse out;
  out.head.error_top = static_cast<ErrorCode>(in.error_code);
  if (in.topics.size() != 1 || in.topics[0].partitions.size() != 1) {
    if (out.head.error_top == ErrorCode::NONE) out.head.error_top = malformed;
    return out;
  }
  const auto& partition = in.topics[0].partitions[0];
  out.head.error = static_cast<ErrorCode>(partition.error_code);
  out.head.leader = NodeId{partition.current_leader.leader_id};
  out.head.epoch = Epoch{partition.current_leader.leader_epoch};
  take_leader_endpoint(out.head, in.node_endpoints);
  out.snapshot = {Offset{partition.snapshot_id.end_offset}, Epoch{partition.snapshot_id.epoch}};
  out.size = partition.size;
  out.position = partition.position;
  if (!partition.unaligned_records.is_null) out.bytes = to_bytes(partition.unaligned_records.view);
  return out;
}

template <class Message>
Result<ResponseBody> from_change(int16_t version, BytesView body) {
  wire::Reader reader(body);
  TRY(const auto in, wire::decode_as<Message>(version, reader));
  VoterChangeResponse out;
  out.head.error_top = static_cast<ErrorCode>(in.error_code);
  out.message = in.error_message.value_or("");
  return out;
}

Result<ResponseBody> from_update(int16_t version, BytesView body) {
  wire::Reader reader(body);
  TRY(const auto in, wire::decode_as<wire::UpdateRaftVoterResponse>(version, reader));
  VoterChangeResponse out;
  out.head.error_top = static_cast<ErrorCode>(in.error_code);
  out.head.leader = NodeId{in.current_leader.leader_id};
  out.head.epoch = Epoch{in.current_leader.leader_epoch};
  const auto port = in.current_leader.port;
  if (in.current_leader.leader_id >= 0 && port > 0 && port <= 65535) {
    out.head.leader_endpoint = LeaderEndpoint{out.head.leader, {in.current_leader.host, static_cast<uint16_t>(port)}};
  }
  return out;
}

Result<ResponseBody> from_api_versions(int16_t version, BytesView body) {
  wire::Reader reader(body);
  TRY(const auto in, wire::decode_as<wire::ApiVersionsResponse>(version, reader));
  ApiVersionsResponse out{.error = static_cast<ErrorCode>(in.error_code), .kraft_version = {}};
  for (const auto& feature : in.supported_features) {
    if (feature.name == "kraft.version") out.kraft_version = VersionRange{feature.min_version, feature.max_version};
  }
  return out;
}

}  // namespace

Result<Bytes> encode_response(int16_t api_key, int16_t version, const ResponseBody& response) {
  struct Visitor {
    int16_t api_key;
    int16_t version;
    Result<Bytes> operator()(const VoteResponse& in) { return to_wire(in, version); }
    Result<Bytes> operator()(const BeginQuorumEpochResponse& in) { return to_wire(in, version); }
    Result<Bytes> operator()(const EndQuorumEpochResponse& in) { return to_wire(in, version); }
    Result<Bytes> operator()(const FetchResponse& in) { return to_wire(in, version); }
    Result<Bytes> operator()(const FetchSnapshotResponse& in) { return to_wire(in, version); }
    Result<Bytes> operator()(const DescribeQuorumResponse& in) { return to_wire(in, version); }
    Result<Bytes> operator()(const VoterChangeResponse& in) {
      switch (static_cast<ApiKey>(api_key)) {
        case ApiKey::ADD_RAFT_VOTER: return change_to_wire<wire::AddRaftVoterResponse>(in, version);
        case ApiKey::REMOVE_RAFT_VOTER: return change_to_wire<wire::RemoveRaftVoterResponse>(in, version);
        default: return update_to_wire(in, version);
      }
    }
    Result<Bytes> operator()(const ApiVersionsResponse&) { return fail(ErrorCode::UNSUPPORTED_VERSION, "the quorum does not answer ApiVersions"); }
    Result<Bytes> operator()(const NoResponse& in) { return fail(in.error, "no answer"); }
  };
  return std::visit(Visitor{api_key, version}, response);
}

Result<ResponseBody> decode_response(int16_t api_key, int16_t version, BytesView body) {
  switch (static_cast<ApiKey>(api_key)) {
    case ApiKey::VOTE: return from_vote(version, body);
    case ApiKey::BEGIN_QUORUM_EPOCH: return from_simple<BeginQuorumEpochResponse, wire::BeginQuorumEpochResponse>(version, body);
    case ApiKey::END_QUORUM_EPOCH: return from_simple<EndQuorumEpochResponse, wire::EndQuorumEpochResponse>(version, body);
    case ApiKey::FETCH: return from_fetch(version, body);
    case ApiKey::FETCH_SNAPSHOT: return from_fetch_snapshot(version, body);
    case ApiKey::ADD_RAFT_VOTER: return from_change<wire::AddRaftVoterResponse>(version, body);
    case ApiKey::REMOVE_RAFT_VOTER: return from_change<wire::RemoveRaftVoterResponse>(version, body);
    case ApiKey::UPDATE_RAFT_VOTER: return from_update(version, body);
    case ApiKey::API_VERSIONS: return from_api_versions(version, body);
    default: return fail(ErrorCode::INVALID_REQUEST, "API key {} is not the quorum's", api_key);
  }
}

}  // namespace castellan::raft

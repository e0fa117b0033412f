// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Requests, both ways.

#include "raft/rpc.h"
#include "wire/api_key.h"
#include "wire/codec.h"
#include "wire/messages/add_raft_voter_request.h"
#include "wire/messages/api_versions_request.h"
#include "wire/messages/begin_quorum_epoch_request.h"
#include "wire/messages/describe_quorum_request.h"
#include "wire/messages/end_quorum_epoch_request.h"
#include "wire/messages/fetch_request.h"
#include "wire/messages/fetch_snapshot_request.h"
#include "wire/messages/remove_raft_voter_request.h"
#include "wire/messages/update_raft_voter_request.h"
#include "wire/messages/vote_request.h"

namespace castellan::raft {
namespace {

using wire::ApiKey;

template <class Message>
Result<Message> decode_client_message(int16_t version, BytesView body) {
  wire::Reader reader(body, wire::DecodeMode::LENIENT);
  return wire::decode_as<Message>(version, reader);
}

// The one partition of a request that names exactly one, else null and why.
template <class Topics>
auto* only_partition(const Topics& topics, std::string_view name, RequestHead& head) {
  const bool one = topics.size() == 1 && topics[0].partitions.size() == 1;
  const auto* partition = one ? &topics[0].partitions[0] : nullptr;
  if (!one) head.target = Target::malformed;
  else if (name != metadata_topic_name) head.target = Target::other;
  return partition;
}

template <class Topics>
std::string_view first_name(const Topics& topics) {
  return topics.empty() ? std::string_view{} : std::string_view(topics[0].topic_name);
}

template <class Listeners>
Endpoints endpoints_of(const Listeners& listeners) {
  Endpoints endpoints;
  for (const auto& listener : listeners) {
    std::string name = listener.name;
    for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    endpoints.emplace(std::move(name), Endpoint{listener.host, listener.port});
  }
  return endpoints;
}

template <class Listener>
std::vector<Listener> to_listeners(const Endpoints& endpoints) {
  std::vector<Listener> listeners;
  for (const auto& [name, endpoint] : endpoints) {
    Listener listener;
    listener.name = name;
    listener.host = endpoint.host;
    listener.port = endpoint.port;
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

ReplicaKey key_of(int32_t id, Uuid directory) { return {NodeId{id}, DirectoryId{directory}}; }

RequestBody flat(const wire::VoteRequest& in) {
  VoteRequest out{.head = {.cluster_id = in.cluster_id}};
  const auto* partition = only_partition(in.topics, first_name(in.topics), out.head);
  if (!partition) return out;
  if (partition->partition_index != 0) out.head.target = Target::other;
  out.epoch = Epoch{partition->replica_epoch};
  out.replica = key_of(partition->replica_id, partition->replica_directory_id);
  out.voter = key_of(in.voter_id, partition->voter_directory_id);
  out.last = {Offset{partition->last_offset}, Epoch{partition->last_offset_epoch}};
  out.pre_vote = partition->pre_vote;
  return out;
}

RequestBody flat(const wire::BeginQuorumEpochRequest& in) {
  BeginQuorumEpochRequest out{.head = {.cluster_id = in.cluster_id}};
  const auto* partition = only_partition(in.topics, first_name(in.topics), out.head);
  if (!partition) return out;
  if (partition->partition_index != 0) out.head.target = Target::other;
  out.epoch = Epoch{partition->leader_epoch};
  out.leader = NodeId{partition->leader_id};
  out.voter = key_of(in.voter_id, partition->voter_directory_id);
  out.leader_endpoints = endpoints_of(in.leader_endpoints);
  return out;
}

RequestBody flat(const wire::EndQuorumEpochRequest& in, int16_t version) {
  EndQuorumEpochRequest out{.head = {.cluster_id = in.cluster_id}};
  const auto* partition = only_partition(in.topics, first_name(in.topics), out.head);
  if (!partition) return out;
  if (partition->partition_index != 0) out.head.target = Target::other;
  out.epoch = Epoch{partition->leader_epoch};
  out.leader = NodeId{partition->leader_id};
  if (version == 0) {
    for (const int32_t id : partition->preferred_successors) out.preferred_candidates.push_back(key_of(id, {}));
  } else {
    for (const auto& candidate : partition->preferred_candidates) {
      out.preferred_candidates.push_back(key_of(candidate.candidate_id, candidate.candidate_directory_id));
    }
  }
  out.leader_endpoints = endpoints_of(in.leader_endpoints);
  return out;
}

RequestBody flat(const wire::FetchRequest& in) {
  FetchRequest out{.head = {.cluster_id = in.cluster_id}, .max_wait_ms = in.max_wait_ms, .max_bytes = in.max_bytes};
  // By topic id alone, which comes with version 13.
  const bool one = in.topics.size() == 1 && in.topics[0].partitions.size() == 1 && in.topics[0].topic_id == metadata_topic_id.value &&
                   in.topics[0].partitions[0].partition == 0;
  if (!one) {
    out.head.target = Target::malformed;
    return out;
  }
  const auto& partition = in.topics[0].partitions[0];
  const int32_t replica = in.replica_id != -1 ? in.replica_id : in.replica_state.replica_id;
  out.epoch = Epoch{partition.current_leader_epoch};
  out.replica = key_of(replica, partition.replica_directory_id);
  out.at = {Offset{partition.fetch_offset}, Epoch{partition.last_fetched_epoch}};
  out.high_watermark = partition.high_watermark;
  return out;
}

RequestBody flat(const wire::FetchSnapshotRequest& in) {
  FetchSnapshotRequest out;
  out.head.cluster_id = in.cluster_id;
  out.max_bytes = in.max_bytes;
  const auto* partition = only_partition(in.topics, in.topics.empty() ? std::string_view{} : in.topics[0].name, out.head);
  if (!partition) return out;
  out.partition = partition->partition;
  out.topic = in.topics[0].name;
  if (partition->partition != 0) out.head.target = Target::other;
  out.epoch = Epoch{partition->current_leader_epoch};
  out.replica = key_of(in.replica_id, partition->replica_directory_id);
  out.snapshot = {Offset{partition->snapshot_id.end_offset}, Epoch{partition->snapshot_id.epoch}};
  out.position = partition->position;
  return out;
}

RequestBody flat(const wire::DescribeQuorumRequest& in) {
  DescribeQuorumRequest out;
  const bool right = in.topics.size() == 1 && in.topics[0].topic_name == metadata_topic_name && in.topics[0].partitions.size() == 1 &&
                     in.topics[0].partitions[0].partition_index == 0;
  if (right) return out;
  out.target = Target::other;
  for (const auto& topic : in.topics) {
    AskedPartitions& asked = out.asked.emplace_back();
    asked.topic = topic.topic_name;
    for (const auto& partition : topic.partitions) asked.partitions.push_back(partition.partition_index);
  }
  return out;
}

RequestBody flat(const wire::AddRaftVoterRequest& in) {
  Voter voter{.key = key_of(in.voter_id, in.voter_directory_id), .endpoints = endpoints_of(in.listeners), .kraft_version = {}};
  return AddVoterRequest{{.cluster_id = in.cluster_id, .target = {}}, std::move(voter), in.ack_when_committed};
}

RequestBody flat(const wire::RemoveRaftVoterRequest& in) {
  return RemoveVoterRequest{{.cluster_id = in.cluster_id, .target = {}}, key_of(in.voter_id, in.voter_directory_id)};
}

RequestBody flat(const wire::UpdateRaftVoterRequest& in) {
  Voter voter{.key = key_of(in.voter_id, in.voter_directory_id),
              .endpoints = endpoints_of(in.listeners),
              .kraft_version = {in.kraft_version_feature.min_supported_version, in.kraft_version_feature.max_supported_version}};
  return UpdateVoterRequest{{.cluster_id = in.cluster_id, .target = {}}, Epoch{in.current_leader_epoch}, std::move(voter)};
}

template <class Message>
Result<RequestBody> decode_flat(int16_t version, BytesView body) {
  TRY(const auto message, decode_client_message<Message>(version, body));
  return flat(message);
}

wire::VoteRequest to_wire(const VoteRequest& in) {
  wire::VoteRequest out;
  out.cluster_id = in.head.cluster_id;
  out.voter_id = in.voter.id.value;
  auto& topic = out.topics.emplace_back();
  topic.topic_name = metadata_topic_name;
  auto& partition = topic.partitions.emplace_back();
  partition.replica_epoch = in.epoch.value;
  partition.replica_id = in.replica.id.value;
  partition.replica_directory_id = in.replica.directory.value;
  partition.voter_directory_id = in.voter.directory.value;
  partition.last_offset_epoch = in.last.epoch.value;
  partition.last_offset = in.last.offset.value;
  partition.pre_vote = in.pre_vote;
  return out;
}

wire::BeginQuorumEpochRequest to_wire(const BeginQuorumEpochRequest& in) {
  wire::BeginQuorumEpochRequest out;
  out.cluster_id = in.head.cluster_id;
  out.voter_id = in.voter.id.value;
  auto& topic = out.topics.emplace_back();
  topic.topic_name = metadata_topic_name;
  auto& partition = topic.partitions.emplace_back();
  partition.voter_directory_id = in.voter.directory.value;
  partition.leader_id = in.leader.value;
  partition.leader_epoch = in.epoch.value;
  out.leader_endpoints = to_listeners<wire::BeginQuorumEpochRequest::LeaderEndpoint>(in.leader_endpoints);
  return out;
}

wire::EndQuorumEpochRequest to_wire(const EndQuorumEpochRequest& in) {
  wire::EndQuorumEpochRequest out;
  out.cluster_id = in.head.cluster_id;
  auto& topic = out.topics.emplace_back();
  topic.topic_name = metadata_topic_name;
  auto& partition = topic.partitions.emplace_back();
  partition.leader_id = in.leader.value;
  partition.leader_epoch = in.epoch.value;
  for (const ReplicaKey& key : in.preferred_candidates) {
    partition.preferred_successors.push_back(key.id.value);
    auto& candidate = partition.preferred_candidates.emplace_back();
    candidate.candidate_id = key.id.value;
    candidate.candidate_directory_id = key.directory.value;
  }
  return out;
}

wire::FetchRequest to_wire(const FetchRequest& in, int16_t version) {
  wire::FetchRequest out;
  out.cluster_id = in.head.cluster_id;
  if (version < 15) out.replica_id = in.replica.id.value;
  else out.replica_state.replica_id = in.replica.id.value;
  out.max_wait_ms = in.max_wait_ms;
  out.max_bytes = in.max_bytes;
  auto& topic = out.topics.emplace_back();
  topic.topic = metadata_topic_name;
  topic.topic_id = metadata_topic_id.value;
  auto& partition = topic.partitions.emplace_back();
  partition.current_leader_epoch = in.epoch.value;
  partition.fetch_offset = in.at.offset.value;
  partition.last_fetched_epoch = in.at.epoch.value;
  partition.replica_directory_id = in.replica.directory.value;
  partition.high_watermark = in.high_watermark;
  return out;
}

wire::FetchSnapshotRequest to_wire(const FetchSnapshotRequest& in) {
  wire::FetchSnapshotRequest out;
  out.cluster_id = in.head.cluster_id;
  out.replica_id = in.replica.id.value;
  out.max_bytes = in.max_bytes;
  auto& topic = out.topics.emplace_back();
  topic.name = metadata_topic_name;
  auto& partition = topic.partitions.emplace_back();
  partition.current_leader_epoch = in.epoch.value;
  partition.snapshot_id.end_offset = in.snapshot.offset.value;
  partition.snapshot_id.epoch = in.snapshot.epoch.value;
  partition.position = in.position;
  partition.replica_directory_id = in.replica.directory.value;
  return out;
}

wire::AddRaftVoterRequest to_wire(const AddVoterRequest& in) {
  wire::AddRaftVoterRequest out;
  out.cluster_id = in.head.cluster_id;
  out.timeout_ms = 2000;
  out.voter_id = in.voter.key.id.value;
  out.voter_directory_id = in.voter.key.directory.value;
  out.listeners = to_listeners<wire::AddRaftVoterRequest::Listener>(in.voter.endpoints);
  out.ack_when_committed = in.ack_when_committed;
  return out;
}

wire::RemoveRaftVoterRequest to_wire(const RemoveVoterRequest& in) {
  wire::RemoveRaftVoterRequest out;
  out.cluster_id = in.head.cluster_id;
  out.voter_id = in.voter.id.value;
  out.voter_directory_id = in.voter.directory.value;
  return out;
}

wire::UpdateRaftVoterRequest to_wire(const UpdateVoterRequest& in) {
  wire::UpdateRaftVoterRequest out;
  out.cluster_id = in.head.cluster_id;
  out.current_leader_epoch = in.epoch.value;
  out.voter_id = in.voter.key.id.value;
  out.voter_directory_id = in.voter.key.directory.value;
  out.listeners = to_listeners<wire::UpdateRaftVoterRequest::Listener>(in.voter.endpoints);
  out.kraft_version_feature.min_supported_version = in.voter.kraft_version.min;
  out.kraft_version_feature.max_supported_version = in.voter.kraft_version.max;
  return out;
}

}  // namespace

bool is_quorum_api(int16_t api_key) {
  switch (static_cast<ApiKey>(api_key)) {
    case ApiKey::FETCH:
    case ApiKey::VOTE:
    case ApiKey::BEGIN_QUORUM_EPOCH:
    case ApiKey::END_QUORUM_EPOCH:
    case ApiKey::DESCRIBE_QUORUM:
    case ApiKey::FETCH_SNAPSHOT:
    case ApiKey::ADD_RAFT_VOTER:
    case ApiKey::REMOVE_RAFT_VOTER:
    case ApiKey::UPDATE_RAFT_VOTER:
      return true;
    default:
      return false;
  }
}

Result<RequestBody> decode_request(int16_t api_key, int16_t version, BytesView body) {
  switch (static_cast<ApiKey>(api_key)) {
    case ApiKey::VOTE: return decode_flat<wire::VoteRequest>(version, body);
    case ApiKey::BEGIN_QUORUM_EPOCH: return decode_flat<wire::BeginQuorumEpochRequest>(version, body);
    case ApiKey::END_QUORUM_EPOCH: {
      TRY(const auto message, decode_client_message<wire::EndQuorumEpochRequest>(version, body));
      return flat(message, version);
    }
    case ApiKey::FETCH: return decode_flat<wire::FetchRequest>(version, body);
    case ApiKey::FETCH_SNAPSHOT: return decode_flat<wire::FetchSnapshotRequest>(version, body);
    case ApiKey::DESCRIBE_QUORUM: return decode_flat<wire::DescribeQuorumRequest>(version, body);
    case ApiKey::ADD_RAFT_VOTER: return decode_flat<wire::AddRaftVoterRequest>(version, body);
    case ApiKey::REMOVE_RAFT_VOTER: return decode_flat<wire::RemoveRaftVoterRequest>(version, body);
    case ApiKey::UPDATE_RAFT_VOTER: return decode_flat<wire::UpdateRaftVoterRequest>(version, body);
    default: return fail(ErrorCode::INVALID_REQUEST, "API key {} is not the quorum's", api_key);
  }
}

int16_t api_key_of(const RequestBody& request) {
  // In the order of the variant.
  constexpr std::array keys{ApiKey::VOTE,           ApiKey::BEGIN_QUORUM_EPOCH, ApiKey::END_QUORUM_EPOCH,  ApiKey::FETCH,
                            ApiKey::FETCH_SNAPSHOT, ApiKey::DESCRIBE_QUORUM,    ApiKey::ADD_RAFT_VOTER,    ApiKey::REMOVE_RAFT_VOTER,
                            ApiKey::UPDATE_RAFT_VOTER, ApiKey::API_VERSIONS};
  static_assert(keys.size() == std::variant_size_v<RequestBody>);
  return static_cast<int16_t>(keys[request.index()]);
}

Result<Bytes> encode_request(const RequestBody& request, int16_t version) {
  struct Visitor {
    int16_t version;
    Result<Bytes> operator()(const VoteRequest& in) { return wire::encode_to_bytes(to_wire(in), version); }
    Result<Bytes> operator()(const BeginQuorumEpochRequest& in) { return wire::encode_to_bytes(to_wire(in), version); }
    Result<Bytes> operator()(const EndQuorumEpochRequest& in) { return wire::encode_to_bytes(to_wire(in), version); }
    Result<Bytes> operator()(const FetchRequest& in) { return wire::encode_to_bytes(to_wire(in, version), version); }
    Result<Bytes> operator()(const FetchSnapshotRequest& in) { return wire::encode_to_bytes(to_wire(in), version); }
    Result<Bytes> operator()(const DescribeQuorumRequest&) { return fail(ErrorCode::INVALID_REQUEST, "replicas do not ask DescribeQuorum"); }
    Result<Bytes> operator()(const AddVoterRequest& in) { return wire::encode_to_bytes(to_wire(in), version); }
    Result<Bytes> operator()(const RemoveVoterRequest& in) { return wire::encode_to_bytes(to_wire(in), version); }
    Result<Bytes> operator()(const UpdateVoterRequest& in) { return wire::encode_to_bytes(to_wire(in), version); }
    Result<Bytes> operator()(const ApiVersionsRequest&) {
      wire::ApiVersionsRequest out;
      out.client_software_name = "castellan";
      out.client_software_version = "4.4";
      return wire::encode_to_bytes(out, version);
    }
  };
  return std::visit(Visitor{version}, request);
}

}  // namespace castellan::raft

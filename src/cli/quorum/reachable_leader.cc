// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/quorum/reachable_leader.h"

#include <set>

#include "client/connection.h"
#include "wire/messages/describe_quorum_request.h"
#include "wire/messages/describe_quorum_response.h"
#include "wire/messages/fetch_request.h"
#include "wire/messages/fetch_response.h"

namespace castellan::cli {
namespace {

constexpr std::chrono::seconds patience{3};
constexpr int16_t fetch_version_with_endpoints = 17;  // KIP-853

// Only a leader can describe the quorum.
std::optional<NodeId> leads(client::Connection& connection) {
  wire::DescribeQuorumRequest request;
  auto& topic = request.topics.emplace_back();
  topic.topic_name = metadata_topic_name;
  topic.partitions.emplace_back();
  const auto answer = connection.ask<wire::DescribeQuorumResponse>(request, 0, client::Deadline::in(patience));
  if (!answer || answer->error_code != 0 || answer->topics.size() != 1 || answer->topics[0].partitions.size() != 1) return std::nullopt;
  const auto& partition = answer->topics[0].partitions[0];
  return partition.error_code == 0 ? std::optional(NodeId{partition.leader_id}) : std::nullopt;
}

// Where the leader is that the node knows of: a Fetch of an epoch long gone is refused with its address.
std::vector<io::Endpoint> known_leader(client::Connection& connection) {
  wire::FetchRequest request;
  auto& topic = request.topics.emplace_back();
  topic.topic_id = metadata_topic_id.value;
  auto& partition = topic.partitions.emplace_back();
  partition.current_leader_epoch = 0;
  partition.last_fetched_epoch = 0;
  const auto answer = connection.ask<wire::FetchResponse>(request, fetch_version_with_endpoints, client::Deadline::in(patience));
  std::vector<io::Endpoint> endpoints;
  if (!answer) return endpoints;
  for (const auto& node : answer->node_endpoints) endpoints.push_back({node.host, static_cast<uint16_t>(node.port)});
  return endpoints;
}

}  // namespace

std::optional<ReachableLeader> find_reachable_leader(const std::vector<io::Endpoint>& addresses) {
  std::vector<io::Endpoint> to_ask = addresses;
  std::set<io::Endpoint> asked;
  for (size_t at = 0; at < to_ask.size(); ++at) {
    const io::Endpoint address = to_ask[at];
    if (!asked.insert(address).second) continue;
    const auto connection = client::Connection::open(address, "castellan-recover", client::Deadline::in(patience));
    if (!connection) continue;
    if (const auto leader = leads(**connection)) return ReachableLeader{*leader, address};
    for (auto& endpoint : known_leader(**connection)) to_ask.push_back(std::move(endpoint));
  }
  return std::nullopt;
}

}  // namespace castellan::cli

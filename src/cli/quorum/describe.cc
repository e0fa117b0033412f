// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/quorum/describe.h"

#include <algorithm>
#include <array>

#include "base/ids.h"

namespace castellan::cli {

namespace {

using Response = wire::DescribeQuorumResponse;
using Partition = Response::PartitionData;
using Replica = Response::ReplicaState;

Result<const Partition*> partition_of(const Response& quorum) {
  if (quorum.topics.size() != 1 || quorum.topics[0].partitions.size() != 1) {
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "the answer describes {} topics instead of the metadata partition", quorum.topics.size());
  }
  return &quorum.topics[0].partitions[0];
}

Result<const Replica*> leader_of(const Partition& partition) {
  const auto leader = std::ranges::find(partition.current_voters, partition.leader_id, &Replica::replica_id);
  if (leader == partition.current_voters.end()) {
    // One that is being removed leads until that is committed.
    const auto leaving = std::ranges::find(partition.observers, partition.leader_id, &Replica::replica_id);
    if (leaving != partition.observers.end()) return &*leaving;
    return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "No value present: the leader {} is not among the voters", partition.leader_id);
  }
  return &*leader;
}

// The answer has the endpoints of the voters alone; an observer may have a voter's node id (P67).
std::string replica_texts(const Response& quorum, const std::vector<Replica>& replicas, bool with_endpoints) {
  std::vector<std::string> texts;
  for (const Replica& replica : replicas) {
    std::string text = fmt::format("{{\"id\": {}", replica.replica_id);
    if (!replica.replica_directory_id.is_zero()) text += fmt::format(", \"directoryId\": \"{}\"", replica.replica_directory_id);
    const auto node = std::ranges::find(quorum.nodes, replica.replica_id, &Response::Node::node_id);
    if (with_endpoints && node != quorum.nodes.end() && !node->listeners.empty()) {
      std::vector<std::string> endpoints;
      for (const auto& listener : node->listeners) {
        const bool brackets = listener.host.find(':') != std::string::npos;
        endpoints.push_back(fmt::format("\"{}://{}{}{}:{}\"", listener.name, brackets ? "[" : "", listener.host, brackets ? "]" : "", listener.port));
      }
      text += fmt::format(", \"endpoints\": [{}]", fmt::join(endpoints, ", "));
    }
    texts.push_back(text + "}");
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// What an operator should see, in lines of their own behind Kafka's.
std::string remarks(const Response& quorum, const Partition& partition) {
  std::string text;
  if (partition.error_message && !partition.error_message->empty()) text += fmt::format("{:<24}{}\n", "VoterChange:", *partition.error_message);
  for (const Replica& voter : partition.current_voters) {
    if (voter.replica_directory_id.is_zero() || quorum.nodes.empty()) continue;
    for (const Replica& observer : partition.observers) {
      if (observer.replica_id != voter.replica_id || observer.replica_directory_id == voter.replica_directory_id) continue;
      if (voter.last_fetch_timestamp >= observer.last_fetch_timestamp) continue;  // the observer is what the node was before
      text += fmt::format("{:<24}voter {} is listed with directory id {}, but node {} has {}: it does not vote, and counts as missing\n", "Warning:", voter.replica_id,
                          voter.replica_directory_id, observer.replica_id, observer.replica_directory_id);
    }
  }
  return text;
}

using Row = std::array<std::string, 7>;

Result<std::string> time_text(int64_t time, std::string_view what, std::optional<WallTime> now) {
  if (time == -1) return std::string("-1");
  if (!now) return std::to_string(time);
  if (time <= 0 || time > now->milliseconds) {
    return fail(ErrorCode::INVALID_TIMESTAMP, "Error while computing relative time, possible drift in system clock.\nCurrent timestamp is {}, {} timestamp is {}",
                now->milliseconds, what, time);
  }
  return fmt::format("{} ms ago", now->milliseconds - time);
}

}  // namespace

Result<std::string> quorum_status(const std::string& cluster_id, const Response& quorum) {
  TRY(const auto* partition, partition_of(quorum));
  TRY(const auto* leader, leader_of(*partition));
  const auto* last = &*std::ranges::min_element(partition->current_voters, {}, &Replica::log_end_offset);
  int64_t lag_time = -1;
  if (last == leader) {
    lag_time = 0;
  } else if (leader->last_caught_up_timestamp != -1 && last->last_caught_up_timestamp != -1) {
    lag_time = leader->last_caught_up_timestamp - last->last_caught_up_timestamp;
  }
  std::string text;
  const auto line = [&](std::string_view label, const auto& value) { text += fmt::format("{:<24}{}\n", label, value); };
  line("ClusterId:", cluster_id);
  line("LeaderId:", partition->leader_id);
  line("LeaderEpoch:", partition->leader_epoch);
  line("HighWatermark:", partition->high_watermark);
  line("MaxFollowerLag:", leader->log_end_offset - last->log_end_offset);
  line("MaxFollowerLagTimeMs:", lag_time);
  line("CurrentVoters:", replica_texts(quorum, partition->current_voters, true));
  line("CurrentObservers:", replica_texts(quorum, partition->observers, false));
  return text + remarks(quorum, *partition);
}

Result<std::string> quorum_replication(const Response& quorum, std::optional<WallTime> now) {
  TRY(const auto* partition, partition_of(quorum));
  TRY(const auto* leader, leader_of(*partition));
  std::vector<Row> rows{{"NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"}};
  const auto add = [&](const Replica& replica, std::string status) -> Result<void> {
    TRY(auto fetched, time_text(replica.last_fetch_timestamp, "last fetch", now));
    TRY(auto caught_up, time_text(replica.last_caught_up_timestamp, "last caught up", now));
    rows.push_back({std::to_string(replica.replica_id), replica.replica_directory_id.text(), std::to_string(replica.log_end_offset),
                    std::to_string(leader->log_end_offset - replica.log_end_offset), std::move(fetched), std::move(caught_up), std::move(status)});
    return {};
  };
  TRY_VOID(add(*leader, "Leader"));
  for (const Replica& voter : partition->current_voters) {
    if (voter.replica_id != partition->leader_id) TRY_VOID(add(voter, "Follower"));
  }
  for (const Replica& observer : partition->observers) {
    if (&observer != leader) TRY_VOID(add(observer, "Observer"));
  }

  std::array<size_t, 7> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) text += fmt::format("{:<{}}\t", row[i], widths[i]);
    text += "\n";
  }
  return text;
}

}  // namespace castellan::cli

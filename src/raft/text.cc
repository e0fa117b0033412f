// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/text.h"

namespace castellan::raft {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

std::string node(NodeId id) { return id.value < 0 ? std::string("none") : std::to_string(id.value); }

std::string head_text(const ResponseHead& head) {
  std::string text;
  if (head.error_top != ErrorCode::NONE) return fmt::format(" top={}", error_name(head.error_top));
  if (head.error != ErrorCode::NONE) text += fmt::format(" error={}", error_name(head.error));
  text += fmt::format(" epoch={} leader={}", head.epoch, node(head.leader));
  if (head.leader_endpoint) text += fmt::format(" at={}:{}", head.leader_endpoint->endpoint.host, head.leader_endpoint->endpoint.port);
  return text;
}

std::string after_text(int64_t after) { return after ? fmt::format(" after={}", after) : ""; }

std::string fetch_text(const FetchResponse& response) {
  std::string text = "fetched" + head_text(response.head);
  if (response.head.error_top != ErrorCode::NONE || response.head.error != ErrorCode::NONE) return text;
  text += fmt::format(" committed={}", response.high_watermark);
  if (response.diverging) text += fmt::format(" diverging={}", *response.diverging);
  if (response.snapshot) text += fmt::format(" snapshot={}", *response.snapshot);
  return text;
}

std::string snapshot_text(const FetchSnapshotResponse& response) {
  return fmt::format("snapshot {}{}", response.snapshot, head_text(response.head));
}

}  // namespace

std::string to_text(const VoterSet& voters) {
  std::string text;
  for (const auto& [id, voter] : voters) text += fmt::format("{}{}", text.empty() ? "" : ",", id);
  return text;
}

std::string to_text(const RequestBody& request) {
  return std::visit(
      Overloaded{
          [](const VoteRequest& in) { return fmt::format("{} epoch={} last={}", in.pre_vote ? "pre-vote" : "vote", in.epoch, in.last); },
          [](const BeginQuorumEpochRequest& in) { return fmt::format("begin-quorum-epoch epoch={} leader={}", in.epoch, node(in.leader)); },
          [](const EndQuorumEpochRequest& in) {
            std::string text = fmt::format("end-quorum-epoch epoch={} successors=", in.epoch);
            for (const auto& key : in.preferred_candidates) text += fmt::format("{}{}", text.back() == '=' ? "" : ",", key.id);
            return text;
          },
          [](const FetchRequest& in) { return fmt::format("fetch epoch={} at={} committed={}", in.epoch, in.at, in.high_watermark); },
          [](const FetchSnapshotRequest& in) { return fmt::format("fetch-snapshot epoch={} {} position={}", in.epoch, in.snapshot, in.position); },
          [](const DescribeQuorumRequest&) { return std::string("describe"); },
          [](const AddVoterRequest& in) { return fmt::format("add-voter {}", in.voter.key.id); },
          [](const RemoveVoterRequest& in) { return fmt::format("remove-voter {}", in.voter.id); },
          [](const UpdateVoterRequest& in) { return fmt::format("update-voter {} epoch={}", in.voter.key.id, in.epoch); },
          [](const ApiVersionsRequest&) { return std::string("api-versions"); }},
      request);
}

std::string to_text(const ResponseBody& response) {
  return std::visit(
      Overloaded{[](const VoteResponse& in) { return fmt::format("{}{}", in.granted ? "granted" : "refused", head_text(in.head)); },
                 [](const BeginQuorumEpochResponse& in) { return "begun" + head_text(in.head); },
                 [](const EndQuorumEpochResponse& in) { return "ended" + head_text(in.head); },
                 [](const FetchResponse& in) { return fetch_text(in); },
                 [](const FetchSnapshotResponse& in) { return snapshot_text(in); },
                 [](const DescribeQuorumResponse& in) {
                   std::string text = "described" + head_text(in.head);
                   if (in.head.error != ErrorCode::NONE) return text;
                   text += fmt::format(" committed={}", in.high_watermark);
                   for (const auto& voter : in.voters) text += fmt::format(" voter={}@{}", voter.key.id, voter.log_end);
                   for (const auto& observer : in.observers) text += fmt::format(" observer={}@{}", observer.key.id, observer.log_end);
                   if (!in.note.empty()) text += ": " + in.note;
                   return text;
                 },
                 [](const VoterChangeResponse& in) {
                   return fmt::format("voter-change {}{}", error_name(in.head.error_top), in.message.empty() ? "" : ": " + in.message);
                 },
                 [](const ApiVersionsResponse& in) { return fmt::format("api-versions {}", error_name(in.error)); },
                 [](const NoResponse& in) { return fmt::format("none {}", error_name(in.error)); }},
      response);
}

std::string to_text(const Action& action) {
  return std::visit(
      Overloaded{[](const SaveElection& in) {
                   return fmt::format("save-election {} epoch={} leader={} voted={}", in.id, in.state.epoch, node(in.state.leader),
                                      in.state.voted ? node(in.state.voted->id) : "none");
                 },
                 [](const Append& in) { return fmt::format("append [{}, {}) epoch={}", in.base, in.end, in.epoch); },
                 [](const OwnRecords& in) { return fmt::format("own-records [{}, {})", in.base, in.end); },
                 [](const Sync& in) { return fmt::format("sync {}", in.id); },
                 [](const Truncate& in) { return fmt::format("truncate {}", in.end); },
                 [](const RestartLog& in) { return fmt::format("restart-log {}", in.snapshot); },
                 [](const Send& in) {
                   return fmt::format("send {} {}{}{}", in.to, to_text(in.body), in.fresh_connection ? " fresh" : "", after_text(in.after));
                 },
                 [](const Reply& in) { return fmt::format("reply {} {}{}", in.token, to_text(in.body), after_text(in.after)); },
                 [](const ReplyWithRecords& in) {
                   return fmt::format("reply {} {} records-from={}{}", in.token, fetch_text(in.response), in.start, after_text(in.after));
                 },
                 [](const ReplyWithSnapshot& in) {
                   return fmt::format("reply {} {} position={}{}", in.token, snapshot_text(in.response), in.position, after_text(in.after));
                 },
                 [](const StoreSnapshotChunk& in) {
                   return fmt::format("store-snapshot {} position={} bytes={}{}", in.id, in.position, in.bytes.size(), in.last ? " last" : "");
                 },
                 [](const DropSnapshotDownload& in) { return fmt::format("drop-snapshot {}", in.id); },
                 [](const Committed& in) { return fmt::format("committed {}", in.end); },
                 [](const LeaderChanged& in) {
                   return fmt::format("leader-changed epoch={} leader={}{}", in.epoch, in.leader ? node(*in.leader) : "none",
                                      in.is_self ? fmt::format(" self from={}", in.epoch_end) : "");
                 },
                 [](const ProposalRejected& in) {
                   return in.not_leader ? fmt::format("rejected {} epoch={}: not its leader", in.base, in.epoch)
                                        : fmt::format("rejected {} epoch={}: expected {}", in.base, in.epoch, in.expected);
                 },
                 [](const KRaftVersionAnswer& in) {
                   return fmt::format("kraft-version {} {}{}", in.token, error_name(in.error), in.message.empty() ? "" : ": " + in.message);
                 },
                 [](const Stop& in) { return "stop: " + in.reason; },
                 [](const ShutDownDone&) { return std::string("shut-down-done"); }},
      action);
}

std::string summary_of(const Core& core) {
  return fmt::format("{} epoch={} log=[{}, {}) synced={} committed={} voters={}", name_of(core.role()), core.epoch(), core.log().start, core.log().end,
                     core.log().synced_end, core.high_watermark() ? core.high_watermark()->value : -1, to_text(core.voters()));
}

}  // namespace castellan::raft

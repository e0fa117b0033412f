// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/control_records.h"

#include "record/builder.h"
#include "record/control.h"
#include "wire/messages/kraft_version_record.h"
#include "wire/messages/leader_change_message.h"
#include "wire/messages/voters_record.h"

namespace castellan::raft {
namespace {

wire::LeaderChangeMessage to_wire(const LeaderChange& change) {
  wire::LeaderChangeMessage message{.leader_id = change.leader.value};
  for (const NodeId id : change.voters) message.voters.push_back({.voter_id = id.value});
  for (const NodeId id : change.granting_voters) message.granting_voters.push_back({.voter_id = id.value});
  return message;
}

LeaderChange from_wire(const wire::LeaderChangeMessage& message) {
  LeaderChange change{.leader = NodeId{message.leader_id}};
  for (const auto& voter : message.voters) change.voters.push_back(NodeId{voter.voter_id});
  for (const auto& voter : message.granting_voters) change.granting_voters.push_back(NodeId{voter.voter_id});
  return change;
}

}  // namespace

wire::VotersRecord voters_to_wire(const VoterSet& voters) {
  wire::VotersRecord message;
  for (const auto& [id, voter] : voters) {
    auto& to = message.voters.emplace_back();
    to.voter_id = id.value;
    to.voter_directory_id = voter.key.directory.value;
    for (const auto& [name, endpoint] : voter.endpoints) to.endpoints.push_back({.name = name, .host = endpoint.host, .port = endpoint.port});
    to.kraft_version_feature = {.min_supported_version = voter.kraft_version.min, .max_supported_version = voter.kraft_version.max};
  }
  return message;
}

Result<VoterSet> voters_from_wire(const wire::VotersRecord& message) {
  std::vector<Voter> voters;
  for (const auto& from : message.voters) {
    Voter voter{.key = {NodeId{from.voter_id}, DirectoryId{from.voter_directory_id}},
                .kraft_version = {from.kraft_version_feature.min_supported_version, from.kraft_version_feature.max_supported_version}};
    for (const auto& endpoint : from.endpoints) voter.endpoints[endpoint.name] = {endpoint.host, endpoint.port};
    const bool repeated = std::ranges::any_of(voters, [&](const Voter& other) { return other.key.id == voter.key.id; });
    if (voter.key.id.value < 0 || repeated) return fail(ErrorCode::CORRUPT_MESSAGE, "voters record: voter id {} is negative or repeated", voter.key.id);
    voters.push_back(std::move(voter));
  }
  return VoterSet(voters);
}

Bytes encode_control_batch(Offset base, Epoch epoch, WallTime time, const ControlRecords& records) {
  std::vector<record::ControlRecord> encoded;
  if (records.leader_change) {
    encoded.push_back({record::ControlType::leader_change, record::encode_control_value(to_wire(*records.leader_change))});
  }
  if (records.kraft_version) {
    wire::KRaftVersionRecord message{.kraft_version = *records.kraft_version};
    encoded.push_back({record::ControlType::kraft_version, record::encode_control_value(message)});
  }
  if (records.voters) {
    encoded.push_back({record::ControlType::kraft_voters, record::encode_control_value(voters_to_wire(*records.voters))});
  }
  return record::control_batch({.base_offset = base.value, .leader_epoch = epoch.value}, time.milliseconds, encoded);
}

Result<ControlRecords> decode_control_batch(const record::BatchView& batch) {
  ControlRecords records;
  record::RecordReader reader(batch);
  record::Record record;
  for (;;) {
    TRY(const bool more, reader.next(record));
    if (!more) break;
    TRY(const auto type, record::parse_control_key(record.key));
    const auto value = record.value.value_or(BytesView{});
    switch (type) {
      case record::ControlType::leader_change: {
        wire::LeaderChangeMessage message;
        TRY_VOID(record::decode_control_value(message, value));
        records.leader_change = from_wire(message);
        break;
      }
      case record::ControlType::kraft_version: {
        wire::KRaftVersionRecord message;
        TRY_VOID(record::decode_control_value(message, value));
        records.kraft_version = message.kraft_version;
        records.kraft_version_offset = Offset{record.offset};
        break;
      }
      case record::ControlType::kraft_voters: {
        wire::VotersRecord message;
        TRY_VOID(record::decode_control_value(message, value));
        TRY(auto voters, voters_from_wire(message));
        records.voters = std::move(voters);
        records.voters_offset = Offset{record.offset};
        break;
      }
      case record::ControlType::snapshot_header:
      case record::ControlType::snapshot_footer:
        break;
      default:
        return fail(ErrorCode::CORRUPT_MESSAGE, "offset {}: a control record of a type that a metadata log does not have", record.offset);
    }
  }
  return records;
}

Result<void> scan_batches(BytesView bytes, const std::function<bool(const BatchSummary&)>& visit) {
  record::BatchScanner scanner(bytes);
  for (;;) {
    const size_t position = scanner.position();
    TRY(const auto view, scanner.next());
    if (!view) return {};
    TRY(const auto batch, record::check_batch(bytes.subspan(position, view->size())));
    BatchSummary summary{.base = Offset{batch.base_offset()},
                         .end = Offset{batch.next_offset()},
                         .epoch = Epoch{batch.leader_epoch()},
                         .position = position,
                         .size = batch.size(),
                         .max_timestamp = batch.max_timestamp()};
    if (batch.is_control()) {
      TRY(auto control, decode_control_batch(batch));
      summary.control = std::move(control);
    }
    if (!visit(summary)) return {};
  }
}

}  // namespace castellan::raft

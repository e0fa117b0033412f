// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the quorum itself writes into the log, and the batches it is in (KIP-595, KIP-853; doc/formats/control-records.md).

#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "raft/voters.h"

namespace castellan::wire {
struct VotersRecord;
}
namespace castellan::record {
class BatchView;
}

namespace castellan::raft {

// Written first in every epoch.
struct LeaderChange {
  NodeId leader;
  std::vector<NodeId> voters;
  std::vector<NodeId> granting_voters;

  friend bool operator==(const LeaderChange&, const LeaderChange&) = default;
};

// In one batch, in this order.
struct ControlRecords {
  std::optional<LeaderChange> leader_change;
  std::optional<int16_t> kraft_version;
  std::optional<VoterSet> voters;
  // Where they lie, in a batch that was read.
  std::optional<Offset> kraft_version_offset;
  std::optional<Offset> voters_offset;

  size_t count() const { return leader_change.has_value() + kraft_version.has_value() + voters.has_value(); }
  friend bool operator==(const ControlRecords&, const ControlRecords&) = default;
};

wire::VotersRecord voters_to_wire(const VoterSet& voters);
Result<VoterSet> voters_from_wire(const wire::VotersRecord& message);

Bytes encode_control_batch(Offset base, Epoch epoch, WallTime time, const ControlRecords& records);

// One batch of a log, as far as this library looks into it.
struct BatchSummary {
  Offset base;
  Offset end;
  Epoch epoch;
  size_t position = 0;  // in the bytes that were scanned
  size_t size = 0;
  int64_t max_timestamp = -1;
  std::optional<ControlRecords> control;  // none in a batch of data
};

// What a control batch says; the snapshot's header and footer say nothing here.
Result<ControlRecords> decode_control_batch(const record::BatchView& batch);

// Walks whole batches; a torn one at the end, as a fetch may bring, is left out. A checksum or a control record that is wrong
// is CORRUPT_MESSAGE: `visit` has then seen what comes before it. `visit` returns false to stop.
Result<void> scan_batches(BytesView bytes, const std::function<bool(const BatchSummary&)>& visit);

}  // namespace castellan::raft

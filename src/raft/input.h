// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Everything that can happen to the core. Values, so that a run can be recorded and replayed.

#pragma once

#include <variant>

#include "raft/messages.h"

namespace castellan::raft {

// A peer or a client asks. `token` names the question in the Reply action; `listener` is where it came in, since a leader's
// address is told for that listener.
struct Request {
  uint64_t token = 0;
  std::string listener;
  RequestBody body;
};

// What came of a Send action.
struct Response {
  uint64_t request_id = 0;
  ResponseBody body;
};

// One whole batch of records that the upper layer wants in the log. It made the batch itself, with the offset it must get;
// when something else is to stand there (ProposalRejected) it decides again.
struct Proposal {
  Epoch epoch;
  Offset base;
  Offset end;
  Bytes batch;
};

// The SaveElection or Sync action of this id is on disk.
struct Synced {
  int64_t id = 0;
};

// The chunk of StoreSnapshotChunk{last} made the snapshot whole, and it is in its place on disk.
struct SnapshotStored {
  SnapshotId id;
  // What its control records say.
  std::optional<VoterSet> voters;
  std::optional<int16_t> kraft_version;
};

// The upper layer wrote a snapshot of its own (see Core::may_snapshot).
struct SnapshotWritten {
  SnapshotId id;
};

// The shell deleted the log, and snapshots, before `start` (see Core::may_clean_to).
struct LogCleaned {
  Offset start;
};

// The connection by which this replica fetches from `node` ended, and could not be made again.
struct PeerLost {
  NodeId node;
};

// The upper layer cannot go on as leader of `epoch`.
struct Resign {
  Epoch epoch;
};

// kraft.version 0 to 1: the voters move from the configuration into the log (KIP-853). Answered by KRaftVersionAnswer at once; the records are
// proposed before the answer.
struct UpgradeKRaftVersion {
  uint64_t token = 0;
  Epoch epoch;
  int16_t level = 0;
  bool validate_only = false;
};

// Leadership is handed over, no election is started; votes are still granted.
struct ShutDown {};

// Time has passed.
struct Tick {};

using Input = std::variant<Request, Response, Proposal, Synced, SnapshotStored, SnapshotWritten, LogCleaned, PeerLost, Resign, UpgradeKRaftVersion,
                           ShutDown, Tick>;

}  // namespace castellan::raft

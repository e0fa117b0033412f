// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the core wants done. The shell performs the list in order; only what has an `after` may have to wait, for the
// SaveElection or Sync of that id, and everything else goes on. 0 waits for nothing.
//
// A failure of the disk is not an answer: the shell stops the node (fail-stop), since what was acknowledged may depend on it.

#pragma once

#include <variant>

#include "raft/messages.h"

namespace castellan::raft {

// Replace quorum-state. Answered by Synced{id}.
struct SaveElection {
  int64_t id = 0;
  ElectionState state;
  int16_t kraft_version = 0;  // decides the file's form
};

// Whole batches, offsets and epochs set, at the end of the log.
struct Append {
  Offset base;
  Offset end;
  Epoch epoch;  // of the last batch
  Bytes batches;
};

// Make everything appended so far durable. Answered by Synced{id}.
struct Sync {
  int64_t id = 0;
};

struct Truncate {
  Offset end;
};

// The log becomes empty and goes on at the snapshot's end.
struct RestartLog {
  SnapshotId snapshot;
};

struct Send {
  uint64_t request_id = 0;
  NodeId to = no_node;  // negative: a bootstrap server, or one whose id is not known
  Endpoint address;
  RequestBody body;
  Duration timeout{};
  bool fresh_connection = false;  // a probe of the address itself (KIP-853)
  int64_t after = 0;
};

struct Reply {
  uint64_t token = 0;
  ResponseBody body;
  int64_t after = 0;
};

// A FetchResponse with the log's batches from `start` on: as many whole ones as fit in max_bytes, but one at least.
struct ReplyWithRecords {
  uint64_t token = 0;
  FetchResponse response;
  Offset start;
  int32_t max_bytes = 0;
  int64_t after = 0;
};

// A FetchSnapshotResponse with a piece of a snapshot file; the shell knows the size and checks the position.
struct ReplyWithSnapshot {
  uint64_t token = 0;
  FetchSnapshotResponse response;
  int64_t position = 0;
  int32_t max_bytes = 0;
  int64_t after = 0;
};

struct StoreSnapshotChunk {
  SnapshotId id;
  int64_t position = 0;
  Bytes bytes;
  bool last = false;
};

struct DropSnapshotDownload {
  SnapshotId id;
};

// Everything before `end` is committed. Never goes back while this core lives.
struct Committed {
  Offset end;
};

// There is a new epoch, or the leader of this epoch is now known. For the leader itself the upper layer acts once it has
// seen everything before `epoch_end` committed.
struct LeaderChanged {
  Epoch epoch;
  std::optional<NodeId> leader;
  bool is_self = false;
  Offset epoch_end;  // where the leader's own proposals begin
};

// As leader: [base, end) now belongs to records that the core itself will append; proposals go on at `end`. At the start of an
// epoch this comes before LeaderChanged.
struct OwnRecords {
  Offset base;
  Offset end;
  int16_t kraft_version = 0;  // once they are there
  std::vector<NodeId> voters;
};

struct ProposalRejected {
  Epoch epoch;
  Offset base;      // of the proposal
  Offset expected;  // what it would have had to be; meaningless when not leader of `epoch`
  bool not_leader = false;
};

struct KRaftVersionAnswer {
  uint64_t token = 0;
  ErrorCode error = ErrorCode::NONE;
  std::string message;
};

struct Stop {
  std::string reason;  // the node cannot go on
};

// ShutDown has done what it can.
struct ShutDownDone {};

using Action = std::variant<SaveElection, Append, Sync, Truncate, RestartLog, Send, Reply, ReplyWithRecords, ReplyWithSnapshot, StoreSnapshotChunk,
                            DropSnapshotDownload, Committed, LeaderChanged, OwnRecords, ProposalRejected, KRaftVersionAnswer, Stop, ShutDownDone>;

}  // namespace castellan::raft

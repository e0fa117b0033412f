// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Which peers may be sent a request: at most one is in flight to each, and a failed one is left alone for a while
// (KIP-595; the state of a connection, not the connection). An answer that is not awaited any more is dropped here, so that
// handlers can rely on the role that asked.

#pragma once

#include <map>
#include <optional>

#include "base/ids.h"
#include "base/time.h"

namespace castellan::raft {

class Connections {
 public:
  bool ready(NodeId peer, MonotonicTime now) const;
  bool backing_off(NodeId peer, MonotonicTime now) const;
  // The request to `peer` was not answered in time.
  bool timed_out(NodeId peer, MonotonicTime now) const;
  bool any_in_flight(MonotonicTime now) const;

  void sent(NodeId peer, uint64_t request_id, MonotonicTime deadline);
  // The peer that was asked `request_id`, when its answer is still awaited; then it is ready again.
  std::optional<NodeId> answered(uint64_t request_id);
  void back_off(NodeId peer, MonotonicTime until);
  // `peer` has shown that it is there.
  void forget(NodeId peer) { peers_.erase(peer); }
  // Forgets everything in flight: the role has changed. Backing off stays, or a transition could make a hot loop.
  void reset();

  // When something here changes by itself.
  MonotonicTime next_change(MonotonicTime now) const;

 private:
  friend class StateAccess;  // of the explorer
  struct State {
    bool awaiting = false;
    uint64_t request_id = 0;
    MonotonicTime until;  // of the answer, or of backing off
  };
  std::map<NodeId, State> peers_;
};

}  // namespace castellan::raft

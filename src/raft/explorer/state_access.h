// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the explorer does to a core beside its inputs: it takes time out of it. A timer that runs may end at any later moment, whatever
// else happens before, so its value says nothing: settle() makes all timers alike, expire() ends the one of the role. Rests after a
// failed request are over at once. What is left is a state that can be compared with others.

#pragma once

#include "raft/core.h"
#include "raft/explorer/digest.h"

namespace castellan::raft {

class StateAccess {
 public:
  // True when a rest was cut short: the core has something to do now.
  static bool settle(Core& core);
  // The time to wait in this role is over; the next Tick sees it.
  static void expire(Core& core, Now now);
  // Whether the answer to this request would be looked at.
  static bool awaits(const Core& core, uint64_t request_id);
  // The request to `peer` whose answer is awaited.
  static std::optional<uint64_t> awaited_from(const Core& core, NodeId peer);
  // As if the request had been lost and its time were over.
  static void forget_request(Core& core, NodeId peer);
  // All that decides what the core will do.
  static void add_to(Digest& digest, const Core& core, Now now);
};

void add_to(Digest& digest, const RequestBody& body);
void add_to(Digest& digest, const ResponseBody& body);

}  // namespace castellan::raft

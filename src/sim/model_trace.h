// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the replicas of a run did, in the words of the TLA+ model (spec/KRaft.tla): a line whenever what a replica shows has changed.
// spec/Trace.tla reads it as the module TraceData and says whether the model could have done the same.
//
//   ModelTrace trace;
//   trace.look(node, life, core);   // after each thing that it did; another life when it was started again
//   trace.write("TraceData.tla");
//
// Brokers are left out: nobody counts what they have, so they fetch on before it is synced.
//
// A replica shows only what its quorum-state has on disk: before that no message speaks of it, and a crash may undo it.
//
// Offsets are renumbered: those at which some log was once seen to end, or an epoch to begin, are counted, and what lies between two of
// them is one record of the model. A replica whose disk is replaced is another one: it needs another node id here.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "raft/core.h"

namespace castellan::sim {

// What the model knows of one replica.
struct ModelState {
  Epoch epoch;
  NodeId voted = no_node;  // a leader voted for itself
  bool leads = false;
  NodeId follows = no_node;
  Offset start;            // of what the log still has
  Offset end;
  Offset synced_end;
  Offset high_watermark;   // 0: not known
  std::vector<raft::EpochTable::Entry> epochs;
  std::set<NodeId> voters;

  friend bool operator==(const ModelState&, const ModelState&) = default;
};
ModelState model_state_of(const raft::Core& core);

class ModelTrace {
 public:
  void look(NodeId node, int life, const raft::Core& core);

  size_t lines() const { return lines_.size(); }
  // The module TraceData: who there is, who votes at first, and the lines.
  std::string module() const;
  // False when the file cannot be written; errno says why.
  bool write(const std::string& path) const;

 private:
  struct Line {
    NodeId node;
    bool restarted = false;
    ModelState state;
    Offset change_end;  // just after the record that brought these voters, if this line did
  };

  std::vector<Line> lines_;
  struct Last {
    int life = 0;
    ModelState state;
  };
  std::map<NodeId, Last> last_;  // line of each
};

}  // namespace castellan::sim

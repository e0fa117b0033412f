// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Makes a stopped replica the only voter of its quorum, for when the majority is lost for ever or every voter's address has changed. What is left is
// as good as this directory's log: records that it does not have are lost. An operator's decision, never a node's.
//
//   TRY(const Survey survey, survey_directory(files, directory));
//   TRY(const RecoveryPlan plan, plan_recovery(survey, options));   // changes nothing; what it will do is in plan.text()
//   TRY(const std::string copies, recover(files, plan, now));
//
// It appends one batch of control records (leader, kraft.version 1, the voter set of this node alone) in an epoch far above every epoch that the
// directory has seen, so that a survivor which comes back with an epoch of its own is fenced by it, and follows. The node starts as the leader
// that has resigned from that epoch, and leads the next one.
//
// The caller holds the directory's lock, and has made sure that no leader can be reached. Blocks. A crash in between leaves a directory that can be
// recovered again, and whose copies are whole.

#pragma once

#include "quorum/survey.h"

namespace castellan::quorum {

struct RecoveryOptions {
  NodeId node;
  raft::Endpoints listeners;  // of this controller, by upper-case name, as others will reach it
  raft::VoterSet static_voters;
};

struct RecoveryPlan {
  Survey survey;
  raft::Voter self;
  raft::VoterSet voters_before;
  Epoch epoch;  // new

  std::string text() const;  // lines for the operator
};

// Refused: another node's directory, no cluster or directory id, damage in the log, an endpoint that nobody could reach.
Result<RecoveryPlan> plan_recovery(const Survey& survey, const RecoveryOptions& options);

// Answers the folder that holds the copies of what was changed.
Result<std::string> recover(io::FileSystem& files, const RecoveryPlan& plan, WallTime now);

}  // namespace castellan::quorum

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the directory of a stopped replica holds, found without changing a byte of it: how far its log goes, which epochs it has seen, who its
// voters are, and what is damaged. For `castellan quorum compare` and `recover`, where the next step is an operator's decision.
//
//   TRY(const Survey survey, survey_directory(files, "/var/lib/kafka/metadata"));
//   survey.end.epoch; survey.highest_epoch; survey.damage;
//
// The caller holds the directory's lock. Reads the whole log; blocks.
// Errors: no meta.properties, no log folder, a quorum-state that cannot be read, a disk that cannot be read. Damage in the log is no error: it is
// what the caller wants to know.

#pragma once

#include <string>
#include <vector>

#include "io/file.h"
#include "log/meta_properties.h"
#include "raft/voters.h"

namespace castellan::quorum {

struct Survey {
  std::string directory;
  std::string folder;  // DIRECTORY/__cluster_metadata-0
  log::MetaProperties meta;
  Offset start;
  raft::LogPosition end;                        // of the log, or of the snapshot that goes on from it
  std::optional<raft::SnapshotId> snapshot;     // the newest whole one
  Epoch highest_epoch;                          // that anything in the directory names
  std::optional<raft::ElectionState> election;  // quorum-state
  std::optional<raft::LogPosition> acknowledged;
  int16_t kraft_version = 0;
  raft::VoterSet voters;               // of the log; empty with kraft.version 0
  std::vector<std::string> remarks;    // torn tail, a damaged snapshot that is not needed
  std::vector<std::string> damage;     // by file and position: the records behind it cannot be trusted
  std::optional<std::string> active_segment;  // path of the last segment's file

  // Ends before what this replica once acknowledged.
  bool lost_acknowledged() const { return acknowledged && end < *acknowledged; }
};

Result<Survey> survey_directory(io::FileSystem& files, const std::string& directory);

}  // namespace castellan::quorum

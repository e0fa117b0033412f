// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Opens what a replica of the quorum has on disk, DIRECTORY/__cluster_metadata-0, and decides whether the node may run on it:
//
//   what is found                                      outcome
//   torn last write                                    cut, one line
//   newest snapshot damaged                            an older one and the log where they cover everything, else refused
//   damage in the log, below the snapshot in use       kept, one line
//   damage in the log, the only voter                  refused: nothing after it is dropped in silence
//   damage in the log, other voters                    cut there, the segments kept as .damaged; does not vote until it has caught up
//   quorum-state cut, empty, garbage                   refused: a voter must not forget its vote
//   log ends before what was acknowledged              the only voter: refused; else does not vote until it has caught up
//   folder gone from a formatted directory             made anew where other controllers are known: does not vote until it has
//                                                      caught up with a leader; else refused
//   crash between snapshot download and truncation     finished
//
// Every refusal names the file and the way out. Blocks on the disk; runs once, before the loops.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "image/metadata_record.h"
#include "log/log.h"
#include "raft/core.h"

namespace castellan::quorum {

struct DirectoryOptions {
  std::string directory;  // metadata.log.dir
  std::string cluster_id;
  raft::ReplicaKey self;
  bool is_controller = false;
  raft::VoterSet static_voters;
  bool knows_others = false;  // the configuration names controllers beside this one
  log::LogConfig log;
  WallTime now;
};

struct MetadataDirectory {
  std::string folder;
  std::unique_ptr<log::Log> log;
  raft::Recovered recovered;
  // Of the newest snapshot in use: what the image begins with. None: the log has everything.
  std::optional<raft::SnapshotId> snapshot;
  // What the first controller of the cluster writes first: from the bootstrap snapshot, or the older bootstrap.checkpoint.
  std::vector<image::MetadataRecord> bootstrap_records;
  std::vector<log::Notice> notices;
};

Result<MetadataDirectory> open_metadata_directory(io::FileSystem& files, const DirectoryOptions& options);

inline constexpr std::string_view metadata_folder_name = "__cluster_metadata-0";

}  // namespace castellan::quorum

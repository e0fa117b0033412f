// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The node's directories before anything is opened in them: each locked, each with a meta.properties that belongs to this
// node and this cluster (KIP-858).
//
//   TRY(auto directories, claim_directories(files, entropy, config, now));
//   directories.cluster_id; directories.metadata_directory_id; ...      // the locks live as long as this object
//
// Errors name the directory and the way out. A second process is refused before it has touched anything.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "config/server_config.h"
#include "io/clock.h"
#include "io/file.h"

namespace castellan::node {

struct ClaimedDirectories {
  std::vector<std::unique_ptr<io::FileLock>> locks;
  std::string cluster_id;
  DirectoryId metadata_directory_id;
  std::vector<std::string> notes;  // for the log: a data directory that cannot be used, one that was prepared
};

Result<ClaimedDirectories> claim_directories(io::FileSystem& files, io::Entropy& entropy, const config::ServerConfig& config, WallTime now);

}  // namespace castellan::node

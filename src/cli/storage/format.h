// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Formatting: makes a node's directories a part of a cluster. Each directory gets a meta.properties; a controller's metadata directory also gets
// the bootstrap snapshot __cluster_metadata-0/00000000000000000000-0000000000.checkpoint, with the features, the voters and the credentials that
// the cluster begins with (doc/formats/metadata-snapshot.md).
//
//   TRY_VOID(format_storage(request, environment));    // prints Kafka's lines to environment.out
//
// All or nothing: everything is checked first, and when a write fails all the same, what was written is taken back. A crash in between leaves
// directories without meta.properties, which count as not formatted; running it again with ignore_formatted completes them.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/environment.h"
#include "cli/storage/features.h"
#include "cli/storage/voters.h"

namespace castellan::cli {

struct FormatRequest {
  std::string cluster_id;
  NodeId node_id;
  std::vector<std::string> directories;              // sorted, each once, the metadata directory among them
  std::string metadata_directory;
  bool is_controller = false;                        // only controllers get a bootstrap snapshot
  std::string controller_listener_name;              // in the voters' endpoints
  std::optional<InitialVoters> initial_voters;       // none: a static quorum, or voters that come later
  FeatureChoice features;
  std::vector<std::string> scram;                    // --add-scram arguments
  bool ignore_formatted = false;
};

Result<void> format_storage(const FormatRequest& request, Environment& environment);

}  // namespace castellan::cli

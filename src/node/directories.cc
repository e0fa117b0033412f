// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/directories.h"

#include <optional>

#include "base/prng.h"
#include "log/directory.h"
#include "log/meta_properties.h"

namespace castellan::node {

namespace {

struct Seen {
  std::string path;
  std::optional<log::MetaProperties> properties;
};

Result<void> check_belongs(const Seen& seen, const config::ServerConfig& config, std::string& cluster_id) {
  const auto& properties = *seen.properties;
  const auto file = io::join(seen.path, log::meta_properties_name);
  if (properties.node_id && *properties.node_id != config.node_id.value) {
    return fail(ErrorCode::INVALID_CONFIG, "{} belongs to node {}, but node.id is {}", file, *properties.node_id, config.node_id);
  }
  if (!properties.cluster_id) return fail(ErrorCode::INVALID_CONFIG, "{} has no cluster.id; format the directory with kafka-storage", file);
  if (cluster_id.empty()) {
    cluster_id = *properties.cluster_id;
  } else if (cluster_id != *properties.cluster_id) {
    return fail(ErrorCode::INVALID_CONFIG, "{} belongs to cluster {}, another directory of this node to cluster {}", file, *properties.cluster_id, cluster_id);
  }
  return {};
}

}  // namespace

Result<ClaimedDirectories> claim_directories(io::FileSystem& files, io::Entropy& entropy, const config::ServerConfig& config, WallTime now) {
  ClaimedDirectories claimed;
  std::vector<Seen> usable;
  // All locks first: a node that is refused has read and written nothing.
  for (const auto& path : config.all_directories()) {
    const bool metadata = path == config.metadata_log_dir;
    Result<void> there;
    if (!files.is_directory(path)) {
      if (metadata) return fail(ErrorCode::INVALID_CONFIG, "the metadata directory {} does not exist; format it with kafka-storage format", path);
      there = files.make_directories(path);
    }
    if (there) {
      if (auto lock = log::lock_directory(files, path)) {
        claimed.locks.push_back(std::move(*lock));
        usable.push_back({path, {}});
        continue;
      } else {
        there = unexpected(lock.error());
      }
    }
    // Held by another process: never go on beside it, whatever the directory is for.
    const bool held = !io::is_not_found(there.error()) && there.error().message.find("another process") != std::string::npos;
    if (metadata || held) return unexpected(there.error());
    claimed.notes.push_back(fmt::format("log directory {} cannot be used: {}", path, there.error().message));
  }
  for (auto& seen : usable) {
    const bool metadata = seen.path == config.metadata_log_dir;
    auto properties = log::read_meta_properties(files, seen.path);
    if (!properties) {
      if (metadata) return unexpected(properties.error());
      claimed.notes.push_back(fmt::format("log directory {} cannot be used: {}", seen.path, properties.error().message));
      continue;
    }
    seen.properties = *properties;
    if (metadata && !seen.properties) {
      return fail(ErrorCode::INVALID_CONFIG, "no {} found in {} (have you run kafka-storage format to format the directory?)", log::meta_properties_name, seen.path);
    }
    if (seen.properties) TRY_VOID(check_belongs(seen, config, claimed.cluster_id));
    // A voter of a dynamic quorum is known by its directory id (KIP-853): under a new one it would wait for ever for others to elect it.
    if (metadata && config.is_controller && config.static_voters.empty() && !seen.properties->directory_id) {
      return fail(ErrorCode::INVALID_CONFIG,
                  "{} has no directory.id, by which the quorum knows this controller; write the line directory.id=ID again with the id that the other "
                  "controllers' kafka-metadata-quorum describe shows, or that a copy of the file has",
                  io::join(seen.path, log::meta_properties_name));
    }
  }
  Prng prng(entropy.next());
  for (auto& seen : usable) {
    const bool metadata = seen.path == config.metadata_log_dir;
    // A data directory that was added to log.dirs, or one of a version that had no directory ids.
    if (!seen.properties || !seen.properties->directory_id) {
      log::MetaProperties properties;
      properties.cluster_id = claimed.cluster_id;
      properties.node_id = config.node_id.value;
      properties.directory_id = prng.uuid();
      if (auto written = log::write_meta_properties(files, seen.path, properties, now); !written) {
        if (metadata) return unexpected(written.error());
        claimed.notes.push_back(fmt::format("log directory {} cannot be used: {}", seen.path, written.error().message));
        continue;
      }
      claimed.notes.push_back(fmt::format("log directory {} is new to this node: prepared with id {}", seen.path, *properties.directory_id));
      seen.properties = properties;
    }
    if (metadata) claimed.metadata_directory_id = DirectoryId{*seen.properties->directory_id};
  }
  return claimed;
}

}  // namespace castellan::node

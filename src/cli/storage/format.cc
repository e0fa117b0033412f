// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/storage/format.h"

#include <ostream>

#include "cli/storage/scram.h"
#include "log/meta_properties.h"
#include "log/metadata_snapshot.h"
#include "record/builder.h"
#include "wire/messages/feature_level_record.h"
#include "wire/messages/kraft_version_record.h"
#include "wire/messages/user_scram_credential_record.h"
#include "wire/messages/voters_record.h"
#include "wire/record_frame.h"

namespace castellan::cli {
namespace {

constexpr size_t batch_size_max = 8 << 20;

// What was found in the directories.
struct Survey {
  std::vector<std::string> empty;
  std::vector<std::string> formatted;
  std::vector<std::string> broken;  // cannot be read; Kafka goes on without them
};

Result<Survey> survey(const FormatRequest& request, Environment& environment) {
  Survey found;
  std::map<Uuid, std::string> owners;
  for (const std::string& directory : request.directories) {
    const std::string path = io::join(directory, log::meta_properties_name);
    if (!environment.files.exists(directory)) {
      found.empty.push_back(directory);
      continue;
    }
    if (!environment.files.is_directory(directory)) {
      if (directory == request.metadata_directory) return fail(ErrorCode::KAFKA_STORAGE_ERROR, "The metadata log directory {} is not a directory.", directory);
      found.broken.push_back(directory);
      continue;
    }
    TRY(auto properties, log::read_meta_properties(environment.files, directory));
    if (!properties) {
      found.empty.push_back(directory);
      continue;
    }
    if (!properties->cluster_id && !properties->node_id) {
      return fail(ErrorCode::CORRUPT_MESSAGE, "{} has neither a cluster id nor a node id, so it is damaged: restore it, or delete it to format {} anew.", path, directory);
    }
    if (properties->cluster_id && *properties->cluster_id != request.cluster_id) {
      return fail(ErrorCode::INCONSISTENT_CLUSTER_ID, "Invalid cluster.id in: {}. Expected {}, but read {}", path, request.cluster_id, *properties->cluster_id);
    }
    if (properties->node_id && *properties->node_id != request.node_id.value) {
      return fail(ErrorCode::INVALID_CONFIG, "Stored node id {} doesn't match previous node id {} in {}. If you moved your data, make sure your configured node id matches. "
                  "If you intend to create a new node, you should remove all data in your data directories.", *properties->node_id, request.node_id, path);
    }
    if (auto id = properties->directory_id) {
      if (id->is_reserved()) return fail(ErrorCode::INVALID_CONFIG, "Invalid reserved directory ID {} found in {}", *id, directory);
      auto [owner, first] = owners.emplace(*id, directory);
      if (!first) return fail(ErrorCode::INVALID_CONFIG, "Duplicate directory ID {} found. It was the ID of {}, but also of {}", *id, owner->second, directory);
    }
    found.formatted.push_back(directory);
  }
  if (!request.ignore_formatted && !found.formatted.empty()) {
    return fail(ErrorCode::INVALID_CONFIG, "Log directory {} is already formatted. Use --ignore-formatted to ignore this directory and format the others.",
                found.formatted.front());
  }
  if (found.empty.empty() && found.formatted.empty()) {
    return fail(ErrorCode::KAFKA_STORAGE_ERROR, "No available log directories to format: {} cannot be read.", fmt::join(found.broken, ", "));
  }
  return found;
}

struct Bootstrap {
  std::vector<Bytes> records;  // framed, in order
  std::string text;            // as the tool prints them; secrets left out
};

Result<Bootstrap> bootstrap_records(const FormatRequest& request, Environment& environment) {
  Bootstrap bootstrap;
  std::vector<std::string> texts;
  auto add = [&](const wire::AnyMetadataRecord& record, std::string text) -> Result<void> {
    TRY(Bytes framed, wire::encode_metadata_record(record, 0));
    bootstrap.records.push_back(std::move(framed));
    texts.push_back(fmt::format("ApiMessageAndVersion({} at version 0)", text));
    return {};
  };
  auto add_feature = [&](const std::string& name, int16_t level) {
    wire::FeatureLevelRecord record;
    record.name = name;
    record.feature_level = level;
    return add(record, fmt::format("FeatureLevelRecord(name='{}', featureLevel={})", name, level));
  };
  const std::string metadata_version(image::metadata_version_feature);
  TRY_VOID(add_feature(metadata_version, request.features.metadata_version.level()));
  for (const auto& [name, level] : request.features.levels) {
    if (level > 0 && name != metadata_version && name != image::kraft_version_feature) TRY_VOID(add_feature(name, level));
  }
  if (!request.scram.empty() && !request.features.metadata_version.scram_supported()) {
    return fail(ErrorCode::INVALID_CONFIG, "SCRAM is only supported in metadata.version 3.5-IV2 or later.");
  }
  for (const std::string& argument : request.scram) {
    TRY(auto record, parse_scram_argument(argument, environment.entropy));
    TRY_VOID(add(record, fmt::format("UserScramCredentialRecord(name='{}', mechanism={}, iterations={})", record.name, record.mechanism, record.iterations)));
  }
  bootstrap.text = fmt::format("BootstrapMetadata(records=[{}], metadataVersionLevel={}, source=format command)", fmt::join(texts, ", "),
                               request.features.metadata_version.level());
  return bootstrap;
}

wire::VotersRecord voters_record(const FormatRequest& request) {
  wire::VotersRecord record;
  for (const auto& [id, voter] : *request.initial_voters) {
    wire::VotersRecord::Voter entry;
    entry.voter_id = id.value;
    entry.voter_directory_id = voter.directory_id.value;
    wire::VotersRecord::Endpoint endpoint;
    endpoint.name = request.controller_listener_name;
    endpoint.host = voter.host;
    endpoint.port = voter.port;
    entry.endpoints.push_back(std::move(endpoint));
    entry.kraft_version_feature.min_supported_version = 0;
    entry.kraft_version_feature.max_supported_version = 1;
    record.voters.push_back(std::move(entry));
  }
  return record;
}

Result<void> write_snapshot(const FormatRequest& request, const Bootstrap& bootstrap, Environment& environment) {
  const std::string folder = io::join(request.metadata_directory, fmt::format("{}-0", metadata_topic_name));
  const int64_t now = environment.clock.wall().milliseconds;
  TRY_VOID(environment.files.make_directories(folder));
  TRY(auto writer, log::SnapshotWriter::create(environment.files, folder, log::bootstrap_snapshot));
  wire::KRaftVersionRecord kraft_version;
  kraft_version.kraft_version = request.features.levels.at(std::string(image::kraft_version_feature));
  std::optional<wire::VotersRecord> voters;
  if (request.initial_voters) voters = voters_record(request);
  TRY_VOID(writer->append(log::snapshot_header_batch(log::bootstrap_snapshot, now, kraft_version.kraft_version > 0 ? &kraft_version : nullptr,
                                                     voters ? &*voters : nullptr, now)));
  int64_t offset = 1 + (kraft_version.kraft_version > 0) + voters.has_value();
  for (size_t next = 0; next < bootstrap.records.size();) {
    record::BatchBuilder builder({.base_offset = offset, .leader_epoch = 0});
    do {
      builder.append(now, std::nullopt, BytesView(bootstrap.records[next++]));
    } while (next < bootstrap.records.size() && builder.size() + bootstrap.records[next].size() < batch_size_max);
    offset += builder.records_count();
    TRY_VOID(writer->append(builder.finish()));
  }
  TRY_VOID(writer->append(log::snapshot_footer_batch(log::bootstrap_snapshot, offset, now)));
  return writer->freeze();
}

// Writes one directory after the other, and takes everything back unless it is told that all went well.
class Writes {
 public:
  explicit Writes(io::FileSystem& files) : files_(files) {}
  ~Writes() {
    for (auto path = undo_.rbegin(); path != undo_.rend(); ++path) static_cast<void>(path->second ? files_.remove_all(path->first) : files_.remove(path->first));
  }
  // Makes a directory with the parents it lacks; the highest of them is what has to go again.
  Result<void> make_directories(const std::string& directory) {
    std::string highest;
    for (std::string path = directory; !path.empty() && !files_.exists(path); path = io::parent(path)) {
      highest = path;
      if (io::parent(path) == path) break;
    }
    if (!highest.empty()) undo_.emplace_back(highest, true);
    return files_.make_directories(directory);
  }
  void will_write(const std::string& path) {
    if (!files_.exists(path)) undo_.emplace_back(path, false);
  }
  void keep() { undo_.clear(); }

 private:
  io::FileSystem& files_;
  std::vector<std::pair<std::string, bool>> undo_;  // path, whether with all below it
};

std::string describe_directory(const FormatRequest& request, const std::string& directory) {
  if (directory != request.metadata_directory) return "data directory";
  if (!request.initial_voters) return "metadata directory";
  return request.initial_voters->contains(request.node_id) ? "dynamic metadata voter directory" : "dynamic metadata directory";
}

Result<void> write_directory(const FormatRequest& request, const std::string& directory, const Bootstrap& bootstrap, Writes& writes, Environment& environment) {
  TRY_VOID(writes.make_directories(directory));
  log::MetaProperties properties;
  properties.cluster_id = request.cluster_id;
  properties.node_id = request.node_id.value;
  properties.directory_id = random_uuid(environment.entropy);
  if (directory == request.metadata_directory) {
    if (request.initial_voters && request.initial_voters->contains(request.node_id)) properties.directory_id = request.initial_voters->at(request.node_id).directory_id.value;
    if (request.is_controller) {
      const std::string folder = io::join(directory, fmt::format("{}-0", metadata_topic_name));
      writes.will_write(folder);
      writes.will_write(log::snapshot_path(folder, log::bootstrap_snapshot));
      TRY_VOID(write_snapshot(request, bootstrap, environment));
    }
  }
  writes.will_write(io::join(directory, log::meta_properties_name));
  return log::write_meta_properties(environment.files, directory, properties, environment.clock.wall());
}

}  // namespace

Result<void> format_storage(const FormatRequest& request, Environment& environment) {
  if (request.cluster_id.empty()) return fail(ErrorCode::INVALID_CONFIG, "The cluster id is empty: give the same --cluster-id to all nodes, e.g. one that random-uuid makes.");
  TRY(Bootstrap bootstrap, bootstrap_records(request, environment));
  TRY(Survey found, survey(request, environment));
  for (const std::string& directory : found.broken) environment.out << "I/O error trying to read log directory " << directory << ". Ignoring...\n";
  if (found.empty.empty()) {
    environment.out << "All of the log directories are already formatted.\n";
    return {};
  }
  Writes writes(environment.files);
  for (const std::string& directory : found.empty) {
    if (auto written = write_directory(request, directory, bootstrap, writes, environment); !written) {
      return fail(written.error().code, "Error while formatting {}: {}", directory, written.error().message);
    }
  }
  writes.keep();
  environment.out << "Bootstrap metadata: " << bootstrap.text << "\n";
  for (const std::string& directory : found.empty) {
    environment.out << fmt::format("Formatting {} {} with metadata.version {}.\n", describe_directory(request, directory), directory,
                                   request.features.metadata_version.name());
  }
  return {};
}

}  // namespace castellan::cli

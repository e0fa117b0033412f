// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// kafka-storage.sh: info, format, version-mapping, feature-dependencies, random-uuid. Output forms and exit codes are Kafka's, since scripts read
// them; a refusal is one line on standard error where Kafka often prints a stack trace.

#include <ostream>

#include "cli/command_line.h"
#include "cli/storage/format.h"
#include "cli/storage/info.h"
#include "cli/tools.h"
#include "config/server_config.h"

namespace castellan::cli {
namespace {

CommandLine command_line() {
  using Kind = Option::Kind;
  const Option config{"--config", "-c", Kind::value, true, 0, "The Kafka configuration file to use."};
  const int voters = 1;
  return CommandLine(
      "kafka-storage", "The Kafka storage tool.",
      {{"info", "Get information about the Kafka log directories on this node.", {config}},
       {"format",
        "Format the Kafka log directories on this node.",
        {config,
         {"--cluster-id", "-t", Kind::value, true, 0, "The cluster ID to use."},
         {"--add-scram", "-S", Kind::repeated, false, 0, "A credential that the cluster begins with, e.g. 'SCRAM-SHA-256=[name=alice,password=alice-secret]'."},
         {"--ignore-formatted", "-g", Kind::flag, false, 0, "Skip directories that are formatted already, instead of failing."},
         {"--release-version", "-r", Kind::value, false, 0, "The release whose features the cluster begins with. The minimum is 3.3-IV3; the default is 4.4-IV2."},
         {"--feature", "-f", Kind::repeated, false, 0, "The level of one feature, feature=level."},
         {"--standalone", "-s", Kind::flag, false, voters, "Make this controller the only voter of a dynamic quorum."},
         {"--no-initial-controllers", "-N", Kind::flag, false, voters, "Format for a dynamic quorum without saying who votes."},
         {"--initial-controllers", "-I", Kind::value, false, voters, "The voters of a dynamic quorum, id@hostname:port:directory each, the same on every node."}}},
       {"version-mapping",
        "Look up the features of a release.",
        {{"--release-version", "-r", Kind::value, false, 0, "The release to look up. The minimum is 3.3-IV3; the default is 4.4-IV2."}}},
       {"feature-dependencies",
        "Look up what a feature's level needs of other features.",
        {{"--feature", "-f", Kind::repeated, true, 0, "The feature and its level, feature=level."}}},
       {"random-uuid", "Print a random UUID.", {}}});
}

Result<config::ServerConfig> read_server_config(const std::string& path, Environment& environment) {
  TRY(Bytes content, environment.files.read_file(path));
  TRY(auto properties, config::parse_properties(as_text(content), path));
  auto server = config::ServerConfig::parse(properties);
  if (!server) return fail(server.error().code, "{}: {}", path, server.error().message);
  for (const std::string& warning : server->warnings) environment.err << "WARN " << path << ": " << warning << "\n";
  return server;
}

Result<InitialVoters> standalone_voters(const config::ServerConfig& server, io::Entropy& entropy) {
  if (!server.is_controller) return fail(ErrorCode::INVALID_CONFIG, "You can only use --standalone on a controller.");
  const config::Listener& listener = server.advertised_controller_listeners.front();
  InitialVoter voter{.host = listener.host.empty() ? "localhost" : java_host_text(listener.host), .port = listener.port, .directory_id = DirectoryId(random_uuid(entropy))};
  return InitialVoters{{server.node_id, std::move(voter)}};
}

Result<void> format(const Parsed& parsed, Environment& environment) {
  TRY(auto server, read_server_config(*parsed.value("--config"), environment));
  const bool static_quorum = !server.static_voters.empty();
  FormatRequest request;
  TRY(request.features, choose_features({.release_version = parsed.value("--release-version"),
                                         .features = parsed.values("--feature"),
                                         .dynamic_quorum = !static_quorum,
                                         .unstable_versions_enabled = server.values.boolean("unstable.feature.versions.enable")}));
  auto initial_controllers = parsed.value("--initial-controllers");
  if (static_quorum && (initial_controllers || parsed.has("--standalone"))) {
    return fail(ErrorCode::INVALID_CONFIG, "You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. If you want to use "
                "dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead.");
  }
  if (initial_controllers) {
    TRY(request.initial_voters, parse_initial_voters(*initial_controllers));
  } else if (parsed.has("--standalone")) {
    TRY(request.initial_voters, standalone_voters(server, environment.entropy));
  } else if (!static_quorum && server.is_controller && !parsed.has("--no-initial-controllers")) {
    return fail(ErrorCode::INVALID_CONFIG, "Because controller.quorum.voters is not set on this controller, you must specify one of the following: --standalone, "
                "--initial-controllers, or --no-initial-controllers.");
  }
  request.cluster_id = *parsed.value("--cluster-id");
  request.node_id = server.node_id;
  request.directories = server.all_directories();
  request.metadata_directory = server.metadata_log_dir;
  request.is_controller = server.is_controller;
  request.controller_listener_name = server.controller_listener_names.front();
  for (char& c : request.controller_listener_name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  request.scram = parsed.values("--add-scram");
  request.ignore_formatted = parsed.has("--ignore-formatted");
  return format_storage(request, environment);
}

Result<void> version_mapping(const Parsed& parsed, std::ostream& out) {
  std::string release = parsed.value("--release-version").value_or(std::string(image::MetadataVersion::latest_production().name()));
  TRY(auto version, image::MetadataVersion::parse(release, true));
  out << fmt::format("metadata.version={} ({})\n", version.level(), release);
  for (const image::Feature& feature : image::features()) out << fmt::format("{}={}\n", feature.name, feature.default_level(version));
  return {};
}

Result<void> feature_dependencies(const Parsed& parsed, std::ostream& out) {
  for (const std::string& text : parsed.values("--feature")) {
    size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return fail(ErrorCode::INVALID_CONFIG, "Invalid feature format: {}. Expected format: 'feature=version' (e.g. 'group.version=1')", text);
    }
    auto parsed_level = parse_feature_level(text);
    if (!parsed_level) return fail(ErrorCode::INVALID_CONFIG, "Invalid version format: {} for feature {}", text.substr(equals + 1), text.substr(0, equals));
    auto [name, level] = *parsed_level;
    if (name == image::metadata_version_feature) {
      auto version = image::MetadataVersion::from_level(level);
      if (!version) return fail(ErrorCode::INVALID_CONFIG, "Unknown metadata.version {}", level);
      out << fmt::format("{}={} ({}) has no dependencies.\n", name, level, version->name());
      continue;
    }
    const image::Feature* feature = image::find_feature(name);
    if (!feature) return fail(ErrorCode::INVALID_CONFIG, "Unknown feature: {}", name);
    const image::FeatureLevel* found = feature->find(level);
    if (!found) return fail(ErrorCode::INVALID_CONFIG, "Feature level {} is not supported for feature {}", level, name);
    out << fmt::format("{}={} {}\n", name, level, found->dependencies.empty() ? "has no dependencies." : "requires:");
    for (const auto& [other, needed] : found->dependencies) {
      auto version = image::MetadataVersion::from_level(needed);
      bool is_metadata_version = other == image::metadata_version_feature && version;
      out << fmt::format("    {}={}{}\n", other, needed, is_metadata_version ? fmt::format(" ({})", version->name()) : "");
    }
  }
  return {};
}

}  // namespace

int run_storage(std::span<const std::string> arguments, Environment& environment) {
  const Parsed parsed = command_line().parse(arguments, environment.files);
  if (parsed.exit_code) {
    (*parsed.exit_code == 0 ? environment.out : environment.err) << parsed.message;
    return *parsed.exit_code;
  }
  Result<void> done;
  if (parsed.command == "info") {
    auto server = read_server_config(*parsed.value("--config"), environment);
    if (server) return print_storage_info(server->all_directories(), environment);
    done = unexpected(server.error());
  } else if (parsed.command == "format") {
    done = format(parsed, environment);
  } else if (parsed.command == "version-mapping") {
    done = version_mapping(parsed, environment.out);
  } else if (parsed.command == "feature-dependencies") {
    done = feature_dependencies(parsed, environment.out);
  } else {
    environment.out << random_uuid(environment.entropy).text() << "\n";
  }
  if (done) return 0;
  environment.err << done.error().message << "\n";
  return 1;
}

}  // namespace castellan::cli

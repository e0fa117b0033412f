// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// kafka-metadata-quorum: what the quorum of controllers looks like, and changes of its voters (KIP-595, KIP-853). tools.md section 4.

#include <algorithm>
#include <charconv>
#include <ostream>

#include "cli/command_line.h"
#include "cli/quorum/describe.h"
#include "cli/quorum/new_controller.h"
#include "cli/quorum/recover.h"
#include "cli/tools.h"
#include "client/cluster.h"
#include "config/addresses.h"
#include "config/properties.h"
#include "wire/messages/add_raft_voter_request.h"
#include "wire/messages/add_raft_voter_response.h"
#include "wire/messages/describe_cluster_request.h"
#include "wire/messages/describe_cluster_response.h"
#include "wire/messages/describe_quorum_request.h"
#include "wire/messages/remove_raft_voter_request.h"
#include "wire/messages/remove_raft_voter_response.h"
#include "wire/messages/unregister_controller_request.h"
#include "wire/messages/unregister_controller_response.h"

namespace castellan::cli {

namespace {

using Kind = Option::Kind;

const std::vector<Option> connection_options{
    {"--bootstrap-server", "", Kind::value, false, 1, "A comma-separated list of host:port pairs of brokers."},
    {"--bootstrap-controller", "", Kind::value, false, 1, "A comma-separated list of host:port pairs of controllers."},
    {"--command-config", "", Kind::value, false, 0, "A properties file for the connection; for add-controller that of the controller to add."}};

std::vector<Option> with_connection(std::vector<Option> options) {
  options.insert(options.end(), connection_options.begin(), connection_options.end());
  return options;
}

CommandLine command_line() {
  return {"kafka-metadata-quorum",
          "This tool describes kraft metadata quorum status.",
          {{"describe", "Describe the metadata quorum info",
            with_connection({{"--status", "", Kind::flag, false, 0, "A short summary of the quorum."},
                             {"--replication", "", Kind::flag, false, 0, "How far each replica is."},
                             {"--human-readable", "", Kind::flag, false, 0, "Times as distances from now."}})},
           {"add-controller", "Add a controller to the KRaft controller cluster",
            with_connection({{"--dry-run", "", Kind::flag, false, 0, "Print what would be done, but do not do it."}})},
           {"remove-controller", "Remove a controller from the KRaft controller cluster",
            with_connection({{"--controller-id", "-i", Kind::value, true, 0, "The id of the controller to remove."},
                             {"--controller-directory-id", "-d", Kind::value, true, 0, "The directory ID of the controller to remove."},
                             {"--dry-run", "", Kind::flag, false, 0, "Print what would be done, but do not do it."},
                             {"--unregister", "", Kind::flag, false, 0, "Unregister the controller as well."}})},
           {"recover", "Make a stopped controller the only voter of a quorum that has lost its majority for ever",
            {{"--config", "-c", Kind::value, true, 0, "The controller's configuration. Its controller address becomes the quorum's only one."},
             {"--dry-run", "", Kind::flag, false, 1, "Print what would be done, but do not do it."},
             {"--yes", "", Kind::flag, false, 1, "Do it."}}},
           {"compare", "Say which of some stopped controllers has the longest log", {}, "DIR", "The metadata log directory of a stopped controller."}}};
}

// Kafka wants the options of the connection before the command; they are taken at either place, and the command is moved to the front.
std::vector<std::string> command_first(std::span<const std::string> given) {
  std::vector<std::string> arguments(given.begin(), given.end());
  for (size_t at = 0; at < arguments.size(); ++at) {
    if (!arguments[at].starts_with("--")) {
      std::rotate(arguments.begin(), arguments.begin() + static_cast<ptrdiff_t>(at), arguments.begin() + static_cast<ptrdiff_t>(at) + 1);
      break;
    }
    if (arguments[at] == "--help") break;
    if (arguments[at].find('=') == std::string::npos) ++at;  // its value
  }
  return arguments;
}

template <class Response>
ErrorCode top_error(const Response& response) {
  return static_cast<ErrorCode>(response.error_code);
}

template <class Response>
Result<void> succeeded(const Response& response) {
  const auto error = static_cast<ErrorCode>(response.error_code);
  if (error == ErrorCode::NONE) return {};
  return fail(error, "{}: {}", error_name(error), response.error_message.value_or("no reason was given"));
}

Result<wire::DescribeQuorumResponse> describe_quorum(client::Cluster& cluster) {
  wire::DescribeQuorumRequest request;
  auto& topic = request.topics.emplace_back();
  topic.topic_name = metadata_topic_name;
  topic.partitions.emplace_back();
  const auto error_of = [](const wire::DescribeQuorumResponse& response) {
    if (response.error_code != 0) return top_error(response);
    if (response.topics.size() != 1 || response.topics[0].partitions.size() != 1) return ErrorCode::NONE;
    return static_cast<ErrorCode>(response.topics[0].partitions[0].error_code);
  };
  TRY(auto response, cluster.ask<wire::DescribeQuorumResponse>(request, 0, error_of));
  if (const auto error = error_of(response); error != ErrorCode::NONE) return fail(error, "the quorum cannot be described: {}", error_name(error));
  return response;
}

Result<std::string> describe(client::Cluster& cluster, const Parsed& parsed, bool controllers, Environment& environment) {
  const auto refuse = [](std::string_view words) { return fail(ErrorCode::INVALID_REQUEST, "{}", words); };
  if (parsed.has("--status") && parsed.has("--replication")) return refuse("Only one of --status or --replication should be specified with describe sub-command");
  if (!parsed.has("--status") && !parsed.has("--replication")) return refuse("One of --status or --replication must be specified with describe sub-command");
  if (parsed.has("--replication")) {
    TRY(const auto quorum, describe_quorum(cluster));
    return quorum_replication(quorum, parsed.has("--human-readable") ? std::optional(environment.clock.wall()) : std::nullopt);
  }
  if (parsed.has("--human-readable")) return refuse("The option --human-readable is only supported along with --replication");
  wire::DescribeClusterRequest request;
  if (controllers) request.endpoint_type = 2;
  TRY(const auto described, cluster.ask<wire::DescribeClusterResponse>(request, controllers ? int16_t{1} : int16_t{0}, top_error<wire::DescribeClusterResponse>));
  TRY_VOID(succeeded(described));
  TRY(const auto quorum, describe_quorum(cluster));
  return quorum_status(described.cluster_id, quorum);
}

Result<std::string> add_controller(client::Cluster& cluster, const Parsed& parsed, const std::optional<config::ConfigMap>& properties, Environment& environment) {
  if (!properties) return fail(ErrorCode::INVALID_REQUEST, "You must supply the configuration file of the controller you are adding when using add-controller.");
  TRY(const auto controller, read_new_controller(*properties, environment.files));
  if (!parsed.has("--dry-run")) {
    wire::AddRaftVoterRequest request;
    request.cluster_id.reset();  // any
    request.timeout_ms = 60'000;
    request.voter_id = controller.id;
    request.voter_directory_id = controller.directory_id;
    for (const auto& listener : controller.listeners) {
      auto& to = request.listeners.emplace_back();
      to.name = listener.name;
      to.host = listener.host;
      to.port = listener.port;
    }
    TRY(const auto response, cluster.ask<wire::AddRaftVoterResponse>(request, 0, top_error<wire::AddRaftVoterResponse>));
    TRY_VOID(succeeded(response));
  }
  return fmt::format("{} controller {} with directory id {} and endpoints: {}\n", parsed.has("--dry-run") ? "DRY RUN of adding" : "Added", controller.id,
                     controller.directory_id, endpoints_text(controller.listeners));
}

Result<std::string> remove_controller(client::Cluster& cluster, const Parsed& parsed) {
  int32_t id = 0;
  const std::string id_text = *parsed.value("--controller-id");
  const auto [end, error] = std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
  if (error != std::errc() || end != id_text.data() + id_text.size()) return fail(ErrorCode::INVALID_REQUEST, "could not convert '{}' to an integer", id_text);
  if (id < 0) return fail(ErrorCode::INVALID_REQUEST, "Invalid negative --controller-id: {}", id);
  const std::string directory_text = *parsed.value("--controller-directory-id");
  const auto directory_id = Uuid::parse(directory_text);
  if (!directory_id) return fail(ErrorCode::INVALID_REQUEST, "Failed to parse --controller-directory-id: {} is not the text of a UUID", directory_text);

  const bool dry_run = parsed.has("--dry-run");
  const auto way_out = [&](const Error& why) {
    return fail(why.code, "{}\nWhen the controller is no voter any more, use `kafka-cluster.sh unregister-controller --id {}` to unregister it.", why.message, id);
  };
  if (!dry_run) {
    wire::RemoveRaftVoterRequest request;
    request.cluster_id.reset();
    request.voter_id = id;
    request.voter_directory_id = *directory_id;
    TRY(const auto response, cluster.ask<wire::RemoveRaftVoterResponse>(request, 0, top_error<wire::RemoveRaftVoterResponse>));
    if (auto removed = succeeded(response); !removed) {
      const bool no_voter = removed.error().code == ErrorCode::UNSUPPORTED_VERSION || removed.error().code == ErrorCode::VOTER_NOT_FOUND;
      if (parsed.has("--unregister") && no_voter) return way_out(removed.error());
      return unexpected(removed.error());
    }
  }
  std::string text = fmt::format("{} KRaft controller {} with directory id {}\n", dry_run ? "DRY RUN of removing" : "Removed", id, *directory_id);
  if (!parsed.has("--unregister")) return text;
  if (!dry_run) {
    wire::UnregisterControllerRequest request;
    request.controller_id = id;
    auto response = cluster.ask<wire::UnregisterControllerResponse>(request, 0, top_error<wire::UnregisterControllerResponse>);
    auto unregistered = response ? succeeded(*response) : unexpected(response.error());
    if (!unregistered) return way_out({unregistered.error().code, text + unregistered.error().message});
  }
  return text + fmt::format("{} KRaft controller {}\n", dry_run ? "DRY RUN of unregistering" : "Unregistered", id);
}

Result<std::vector<io::Endpoint>> addresses_of(const std::string& text) {
  std::vector<std::string> entries;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) entries.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  TRY(const auto parsed, config::parse_bootstrap_servers(entries));
  std::vector<io::Endpoint> addresses;
  for (const auto& address : parsed) addresses.push_back({address.host, address.port});
  if (addresses.empty()) return fail(ErrorCode::INVALID_CONFIG, "No resolvable bootstrap urls given in bootstrap servers");
  return addresses;
}

Result<std::string> run_command(const Parsed& parsed, Environment& environment) {
  std::optional<config::ConfigMap> properties;
  if (const auto file = parsed.value("--command-config")) {
    if (!environment.files.exists(*file)) return fail(ErrorCode::INVALID_CONFIG, "Properties file {} does not exist.", *file);
    TRY(const auto content, environment.files.read_file(*file));
    TRY(properties, config::parse_properties(as_text(content), *file));
  }
  const auto controllers = parsed.value("--bootstrap-controller");
  TRY(auto bootstrap, addresses_of(controllers ? *controllers : *parsed.value("--bootstrap-server")));
  client::Cluster cluster({.bootstrap = std::move(bootstrap), .controllers = controllers.has_value(), .client_id = "kafka-metadata-quorum"});
  if (parsed.command == "describe") return describe(cluster, parsed, controllers.has_value(), environment);
  if (parsed.command == "add-controller") return add_controller(cluster, parsed, properties, environment);
  return remove_controller(cluster, parsed);
}

}  // namespace

int run_quorum(std::span<const std::string> arguments, Environment& environment) {
  const Parsed parsed = command_line().parse(command_first(arguments), environment.files);
  if (parsed.exit_code) {
    (*parsed.exit_code == 0 ? environment.out : environment.err) << parsed.message;
    return *parsed.exit_code;
  }
  const auto print = [&](const Result<std::string>& text) {
    if (text) environment.out << *text;
    else environment.err << text.error().message << "\n";
    return text ? 0 : 1;
  };
  if (parsed.command == "compare") return print(compare_directories(parsed.positionals, environment));
  if (parsed.command == "recover") {
    const auto mode = parsed.has("--yes") ? RecoverMode::yes : parsed.has("--dry-run") ? RecoverMode::dry_run : RecoverMode::show;
    return print(recover_quorum(*parsed.value("--config"), mode, environment));
  }
  if (!parsed.has("--bootstrap-server") && !parsed.has("--bootstrap-controller")) {
    environment.err << "kafka-metadata-quorum: error: one of the arguments --bootstrap-server --bootstrap-controller is required\n";
    return 1;
  }
  return print(run_command(parsed, environment));
}

}  // namespace castellan::cli

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/quorum/recover.h"

#include <unistd.h>

#include "cli/quorum/reachable_leader.h"
#include "config/server_config.h"
#include "log/directory.h"
#include "quorum/recover.h"

namespace castellan::cli {
namespace {

Result<config::ServerConfig> read_config(const std::string& file, const io::FileSystem& files) {
  if (!files.exists(file)) return fail(ErrorCode::INVALID_CONFIG, "{} does not exist", file);
  TRY(const Bytes content, files.read_file(file));
  TRY(const auto properties, config::parse_properties(as_text(content), file));
  auto server = config::ServerConfig::parse(properties);
  if (!server) return fail(server.error().code, "{}: {}", file, server.error().message);
  if (!server->is_controller) return fail(ErrorCode::INVALID_CONFIG, "{}: process.roles does not name the controller role: only a controller can be a voter", file);
  return server;
}

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

// What the node tells others: an empty host is this machine.
raft::Endpoints controller_endpoints(const config::ServerConfig& server) {
  raft::Endpoints endpoints;
  for (const auto& listener : server.advertised_controller_listeners) {
    char name[256] = {};
    std::string host = listener.host;
    if (host.empty()) host = ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
    endpoints[listener.name] = {host, listener.port};
  }
  return endpoints;
}

raft::VoterSet static_voters(const config::ServerConfig& server) {
  std::vector<raft::Voter> voters;
  const std::string listener = upper_case(server.controller_listener_names.front());
  for (const auto& [id, address] : server.static_voters) {
    voters.push_back({.key = {.id = id, .directory = {}}, .endpoints = {{listener, {address.host, address.port}}}, .kraft_version = {}});
  }
  return raft::VoterSet(voters);
}

// Every address at which somebody of this quorum may answer.
std::vector<io::Endpoint> quorum_addresses(const config::ServerConfig& server, const raft::VoterSet& voters) {
  std::vector<io::Endpoint> addresses;
  for (const auto& [id, voter] : voters) {
    for (const auto& [name, endpoint] : voter.endpoints) addresses.push_back({endpoint.host, endpoint.port});
  }
  for (const auto& [id, address] : server.static_voters) addresses.push_back({address.host, address.port});
  for (const auto& address : server.bootstrap_servers) addresses.push_back({address.host, address.port});
  return addresses;
}

}  // namespace

Result<std::string> recover_quorum(const std::string& config_file, RecoverMode mode, Environment& environment) {
  TRY(const auto server, read_config(config_file, environment.files));
  // All of the node's directories: it must be down as a whole.
  std::vector<std::unique_ptr<io::FileLock>> locks;
  for (const std::string& directory : server.all_directories()) {
    const bool metadata = directory == server.metadata_log_dir;
    if (!environment.files.is_directory(directory)) {
      if (metadata) return fail(ErrorCode::INVALID_CONFIG, "the metadata directory {} does not exist", directory);
      continue;
    }
    TRY(auto lock, log::lock_directory(environment.files, directory));
    locks.push_back(std::move(lock));
  }
  TRY(const auto survey, quorum::survey_directory(environment.files, server.metadata_log_dir));
  TRY(const auto plan, quorum::plan_recovery(survey, {.node = server.node_id, .listeners = controller_endpoints(server), .static_voters = static_voters(server)}));
  if (const auto leader = find_reachable_leader(quorum_addresses(server, plan.voters_before))) {
    return fail(ErrorCode::INVALID_REQUEST,
                "node {} at {}:{} leads the quorum: nothing is to be recovered. Voters are changed through it with add-controller and remove-controller; a quorum that "
                "shall be given up has to be stopped first",
                leader->id, leader->address.host, leader->address.port);
  }
  std::string text = plan.text();
  if (mode == RecoverMode::dry_run) return text + "DRY RUN: nothing was changed.\n";
  if (mode == RecoverMode::show) {
    environment.out << text;
    return fail(ErrorCode::INVALID_REQUEST, "Nothing was changed. Run again with --yes to do this, when every other voter is down and stays down");
  }
  TRY(const std::string copies, quorum::recover(environment.files, plan, environment.clock.wall()));
  return text + fmt::format(
                    "Recovered: node {} is the only voter. What was changed is kept in {}.\n"
                    "Start it, make the brokers' controller.quorum.bootstrap.servers name its address, and add other controllers with add-controller.\n",
                    server.node_id, copies);
}

}  // namespace castellan::cli

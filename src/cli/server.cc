// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// kafka-server-start.sh FILE [--override KEY=VALUE]...: reads and checks the configuration, then is the node until it is told to end. Exit code 0
// after SIGTERM, 1 with one line for what cannot be.

#include <ostream>

#include "cli/tools.h"
#include "cli/version.h"
#include "config/server_config.h"
#include "node/server.h"

namespace castellan::cli {
namespace {

constexpr std::string_view usage =
    "USAGE: kafka-server-start.sh server.properties [--override property=value]*\n"
    "  --override property=value  a setting that holds instead of the file's\n"
    "  --version                  print the version and end\n";

struct Arguments {
  std::string file;
  std::vector<std::pair<std::string, std::string>> overrides;
};

// nullopt: print the usage and end.
std::optional<Arguments> parse(std::span<const std::string> given) {
  Arguments arguments;
  for (size_t i = 0; i < given.size(); ++i) {
    std::string text = given[i];
    if (text == "--override" && i + 1 < given.size()) {
      text = given[++i];
    } else if (text.starts_with("--override=")) {
      text.erase(0, 11);
    } else if (arguments.file.empty() && !text.starts_with("-")) {
      arguments.file = text;
      continue;
    } else {
      return std::nullopt;
    }
    size_t equals = text.find('=');
    arguments.overrides.emplace_back(text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1));
  }
  if (arguments.file.empty()) return std::nullopt;
  return arguments;
}

Result<config::ServerConfig> read(const Arguments& arguments, const io::FileSystem& files) {
  TRY(Bytes content, files.read_file(arguments.file));
  TRY(auto properties, config::parse_properties(as_text(content), arguments.file));
  for (const auto& [key, value] : arguments.overrides) properties.insert_or_assign(key, value);
  auto server = config::ServerConfig::parse(properties);
  if (server) {
    if (auto supported = server->check_supported(); !supported) server = unexpected(supported.error());
  }
  if (!server) return fail(server.error().code, "{}: {}", arguments.file, server.error().message);
  return server;
}

}  // namespace

int run_server(std::span<const std::string> given, Environment& environment) {
  if (std::find(given.begin(), given.end(), "--version") != given.end()) {
    environment.out << kafka_version << " (castellan " << program_version << ")\n";
    return 0;
  }
  auto arguments = parse(given);
  if (!arguments) {
    environment.err << usage;
    return 1;
  }
  auto server = read(*arguments, environment.files);
  if (!server) {
    environment.err << "castellan: " << server.error().message << "\n";
    return 1;
  }
  return node::run_server(*server);
}

}  // namespace castellan::cli

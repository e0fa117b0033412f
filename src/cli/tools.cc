// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/tools.h"

#include <ostream>

#include "cli/version.h"

namespace castellan::cli {
namespace {

constexpr Tool table[] = {
    {"server", "kafka-server-start.sh", "run a node: FILE [--override KEY=VALUE]...", run_server},
    {"storage", "kafka-storage.sh", "format a node's directories, and look at them", run_storage},
    {"quorum", "kafka-metadata-quorum.sh", "describe the quorum of controllers, and change its voters", run_quorum},
    {"config-doc", "", "print every configuration key as a page of Markdown", run_config_doc},
};

const Tool* find(std::string_view name) {
  for (const Tool& tool : table) {
    if (tool.name == name || (!tool.script.empty() && (tool.script == name || tool.script.substr(0, tool.script.size() - 3) == name))) return &tool;
  }
  return nullptr;
}

void print_usage(std::ostream& out) {
  out << "usage: castellan COMMAND [ARGUMENT...]\n\n";
  for (const Tool& tool : table) out << fmt::format("  {:<14}{}{}\n", tool.name, tool.summary, tool.script.empty() ? "" : fmt::format(" ({})", tool.script));
  out << "  version       print the version\n  script-names  print the names of Kafka's scripts that this program answers to\n\n"
         "castellan COMMAND --help tells more.\n";
}

}  // namespace

std::span<const Tool> tools() { return table; }

int run(std::string_view program, std::span<const std::string> arguments, Environment& environment) {
  if (const Tool* tool = find(program)) return tool->run(arguments, environment);
  if (arguments.empty()) {
    print_usage(environment.err);
    return 1;
  }
  std::string_view command = arguments.front();
  if (command == "--help" || command == "-h" || command == "help") {
    print_usage(environment.out);
    return 0;
  }
  if (command == "--version" || command == "version") {
    environment.out << fmt::format("castellan {} (Apache Kafka {})\n", program_version, kafka_version);
    return 0;
  }
  if (command == "script-names") {
    for (const Tool& tool : table) {
      if (!tool.script.empty()) environment.out << tool.script << "\n";
    }
    return 0;
  }
  if (const Tool* tool = find(command)) return tool->run(arguments.subspan(1), environment);
  environment.err << "castellan: unknown command '" << command << "'\n";
  print_usage(environment.err);
  return 1;
}

}  // namespace castellan::cli

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/storage/info.h"

#include <ostream>

#include "log/meta_properties.h"

namespace castellan::cli {
namespace {

// As Java shows a sorted map.
std::string text_of(const log::MetaProperties& properties) {
  std::vector<std::string> parts;
  if (properties.node_id && properties.version == 0) parts.push_back(fmt::format("broker.id={}", *properties.node_id));
  if (properties.cluster_id) parts.push_back(fmt::format("cluster.id={}", *properties.cluster_id));
  if (properties.directory_id) parts.push_back(fmt::format("directory.id={}", *properties.directory_id));
  if (properties.node_id && properties.version != 0) parts.push_back(fmt::format("node.id={}", *properties.node_id));
  parts.push_back(fmt::format("version={}", properties.version));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

void print_block(std::ostream& out, std::string_view one, std::string_view many, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  out << (lines.size() == 1 ? one : many) << ":\n";
  for (const std::string& line : lines) out << "  " << line << "\n";
  out << "\n";
}

}  // namespace

int print_storage_info(const std::vector<std::string>& directories, Environment& environment) {
  std::vector<std::string> found, problems;
  std::optional<log::MetaProperties> first;
  for (const std::string& directory : directories) {
    if (!environment.files.exists(directory)) {
      problems.push_back(directory + " does not exist");
      continue;
    }
    if (!environment.files.is_directory(directory)) {
      problems.push_back(directory + " is not a directory");
      continue;
    }
    found.push_back(directory);
    auto properties = log::read_meta_properties(environment.files, directory);
    if (!properties) {
      problems.push_back(fmt::format("Error loading {}: {}", io::join(directory, log::meta_properties_name), properties.error().message));
    } else if (!*properties) {
      problems.push_back(directory + " is not formatted.");
    } else if (!first) {
      first = **properties;
    } else if (first->cluster_id != (*properties)->cluster_id) {
      problems.push_back("Mismatched cluster IDs between storage directories.");
    } else if (first->node_id != (*properties)->node_id) {
      problems.push_back("Mismatched node IDs between storage directories.");
    }
  }
  if (first && first->version == 0) {
    problems.push_back("The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are formatted for legacy mode.");
  }
  if (directories.empty()) {
    environment.out << "No directories specified.\n";
    return 0;
  }
  print_block(environment.out, "Found log directory", "Found log directories", found);
  if (first) environment.out << "Found metadata: " << text_of(*first) << "\n\n";
  print_block(environment.out, "Found problem", "Found problems", problems);
  return problems.empty() ? 0 : 1;
}

}  // namespace castellan::cli

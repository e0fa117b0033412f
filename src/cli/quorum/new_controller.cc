// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/quorum/new_controller.h"

#include <charconv>

#include "log/meta_properties.h"

namespace castellan::cli {

namespace {

std::unexpected<Error> not_a_controller(std::string_view what) {
  return fail(ErrorCode::INVALID_CONFIG, "{}. Is this a valid controller configuration file?", what);
}

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

std::vector<std::string> items_of(const config::ConfigMap& properties, std::string_view key) {
  std::vector<std::string> items;
  const auto found = properties.find(key);
  if (found == properties.end()) return items;
  std::string_view text = found->second;
  for (;;) {
    const size_t comma = text.find(',');
    if (auto item = trimmed(text.substr(0, comma)); !item.empty()) items.push_back(std::move(item));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

Result<int32_t> id_of(const config::ConfigMap& properties) {
  const auto found = properties.find("node.id");
  if (found == properties.end()) return not_a_controller("node.id not found in configuration file");
  const std::string text = trimmed(found->second);
  int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return not_a_controller(fmt::format("node.id is not a number but \"{}\"", text));
  if (id < 0) return not_a_controller("node.id was negative in configuration file");
  return id;
}

Result<Uuid> directory_id_of(const config::ConfigMap& properties, const io::FileSystem& files) {
  std::string directory;
  if (const auto found = properties.find("metadata.log.dir"); found != properties.end()) {
    directory = trimmed(found->second);
  } else if (const auto directories = items_of(properties, "log.dirs"); !directories.empty()) {
    directory = directories.front();
  } else {
    return not_a_controller("Neither metadata.log.dir nor log.dirs were found");
  }
  TRY(const auto meta, log::read_meta_properties(files, directory));
  if (!meta) return fail(ErrorCode::INVALID_CONFIG, "Unable to read meta.properties from {}", directory);
  if (!meta->directory_id) return fail(ErrorCode::INVALID_CONFIG, "No directory id found in {}", directory);
  return *meta->directory_id;
}

Result<std::vector<config::ListenerText>> listeners_of(const config::ConfigMap& properties) {
  std::map<std::string, config::ListenerText> known;
  for (const auto* key : {"listeners", "advertised.listeners"}) {
    for (const auto& text : items_of(properties, key)) {
      TRY(auto listener, config::parse_listener_text(text));
      known[listener.name] = listener;
    }
  }
  if (!properties.contains("controller.listener.names")) return not_a_controller("controller.listener.names was not found");
  std::vector<config::ListenerText> listeners;
  for (auto name : items_of(properties, "controller.listener.names")) {
    for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    const auto found = known.find(name);
    if (found == known.end()) return fail(ErrorCode::INVALID_CONFIG, "Cannot find information about controller listener name: {}", name);
    listeners.push_back(found->second);
    if (listeners.back().host.empty()) listeners.back().host = "localhost";
  }
  return listeners;
}

}  // namespace

Result<NewController> read_new_controller(const config::ConfigMap& properties, const io::FileSystem& files) {
  NewController controller;
  TRY(controller.id, id_of(properties));
  const auto roles = properties.find("process.roles");
  if (roles == properties.end() || roles->second.find("controller") == std::string::npos) {
    return not_a_controller("process.roles did not contain 'controller' in configuration file");
  }
  TRY(controller.directory_id, directory_id_of(properties, files));
  TRY(controller.listeners, listeners_of(properties));
  return controller;
}

std::string endpoints_text(const std::vector<config::ListenerText>& listeners) {
  std::string text;
  for (const auto& listener : listeners) {
    const bool brackets = listener.host.find(':') != std::string::npos;
    text += fmt::format("{}{}://{}{}{}:{}", text.empty() ? "" : ", ", listener.name, brackets ? "[" : "", listener.host, brackets ? "]" : "", listener.port);
  }
  return text;
}

}  // namespace castellan::cli

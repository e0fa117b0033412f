// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/meta_properties.h"

#include <charconv>
#include <ctime>
#include <map>

namespace castellan::log {
namespace {

// What Java's Properties.load makes of one line, as far as values here can need it: blanks around the name, '=' or ':' or
// a blank between, a backslash before any character.
std::optional<std::pair<std::string, std::string>> parse_line(std::string_view line) {
  size_t at = line.find_first_not_of(" \t\f");
  if (at == std::string_view::npos || line[at] == '#' || line[at] == '!') return std::nullopt;
  std::string name, value;
  for (; at < line.size() && !std::string_view("=: \t\f").contains(line[at]); ++at) {
    if (line[at] == '\\' && at + 1 < line.size()) ++at;
    name += line[at];
  }
  at = std::min(line.find_first_not_of(" \t\f", at), line.size());
  if (at < line.size() && (line[at] == '=' || line[at] == ':')) at = std::min(line.find_first_not_of(" \t\f", at + 1), line.size());
  for (; at < line.size(); ++at) {
    if (line[at] == '\\' && at + 1 < line.size()) ++at;
    value += line[at];
  }
  return std::pair(std::move(name), std::move(value));
}

// The escapes that Java's Properties.store puts into a value.
std::string escape(std::string_view value) {
  std::string text;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\t') {
      text += "\\t";
    } else if (value[i] == '\n') {
      text += "\\n";
    } else {
      if (std::string_view("\\=:#!").contains(value[i]) || (i == 0 && value[i] == ' ')) text += '\\';
      text += value[i];
    }
  }
  return text;
}

Result<int32_t> to_number(const std::string& value, std::string_view name, const std::string& path) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || value.empty())
    return fail(ErrorCode::CORRUPT_MESSAGE, "{}: {} is \"{}\", which is no number", path, name, value);
  return number;
}

// "Mon Nov 30 17:06:48 UTC 2026"
std::string date_text(WallTime now) {
  const time_t seconds = now.milliseconds / 1000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%a %b %d %H:%M:%S UTC %Y", &parts);
  return text;
}

}  // namespace

Bytes encode_meta_properties(const MetaProperties& properties, WallTime now) {
  std::string text = fmt::format("#\n#{}\n", date_text(now));
  if (properties.node_id) text += fmt::format("{}={}\n", properties.version == 0 ? "broker.id" : "node.id", *properties.node_id);
  if (properties.directory_id) text += fmt::format("directory.id={}\n", properties.directory_id->text());
  text += fmt::format("version={}\n", properties.version);
  if (properties.cluster_id) text += fmt::format("cluster.id={}\n", escape(*properties.cluster_id));
  return to_bytes(text);
}

Result<MetaProperties> parse_meta_properties(BytesView bytes, const std::string& path) {
  std::map<std::string, std::string> values;
  for (std::string_view left = as_text(bytes); !left.empty();) {
    const size_t end = left.find_first_of("\r\n");
    if (auto line = parse_line(left.substr(0, end))) values[line->first] = line->second;
    left = end == std::string_view::npos ? std::string_view{} : left.substr(end + 1);
  }
  const auto value = [&values](const char* name) -> const std::string* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second;
  };

  MetaProperties properties;
  if (values.empty()) return fail(ErrorCode::CORRUPT_MESSAGE, "{} has no properties in it; format the directory, or put the file back", path);
  properties.version = 0;
  if (const auto* version = value("version")) {
    TRY(properties.version, to_number(*version, "version", path));
  }
  if (properties.version != 0 && properties.version != 1) return fail(ErrorCode::CORRUPT_MESSAGE, "{}: unknown version {}", path, properties.version);
  if (const auto* id = value(properties.version == 0 ? "broker.id" : "node.id")) {
    TRY(properties.node_id, to_number(*id, properties.version == 0 ? "broker.id" : "node.id", path));
  } else if (properties.version == 1) {
    return fail(ErrorCode::CORRUPT_MESSAGE, "{}: node.id is missing", path);
  }
  if (const auto* id = value("cluster.id")) {
    properties.cluster_id = *id;
  } else if (properties.version == 1) {
    return fail(ErrorCode::CORRUPT_MESSAGE, "{}: cluster.id is missing", path);
  }
  if (const auto* id = value("directory.id")) {
    auto parsed = Uuid::parse(*id);
    if (!parsed) return fail(ErrorCode::CORRUPT_MESSAGE, "{}: directory.id is \"{}\", which is no id", path, *id);
    properties.directory_id = *parsed;
  }
  return properties;
}

Result<std::optional<MetaProperties>> read_meta_properties(const io::FileSystem& files, const std::string& directory) {
  const std::string path = io::join(directory, meta_properties_name);
  const auto bytes = files.read_file(path, 1 << 20);
  if (!bytes) {
    if (io::is_not_found(bytes.error())) return std::nullopt;
    return unexpected(bytes.error());
  }
  return parse_meta_properties(*bytes, path);
}

Result<void> write_meta_properties(io::FileSystem& files, const std::string& directory, const MetaProperties& properties, WallTime now) {
  return files.replace_file(io::join(directory, meta_properties_name), encode_meta_properties(properties, now));
}

}  // namespace castellan::log

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/partition_metadata.h"

#include "log/checkpoints.h"

namespace castellan::log {
namespace {

// "NAME: VALUE" -> VALUE
std::string_view value_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || !line.substr(name.size()).starts_with(':')) return {};
  line.remove_prefix(name.size() + 1);
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

}  // namespace

Result<std::optional<TopicId>> read_partition_metadata(const io::FileSystem& files, const std::string& folder) {
  const std::string path = io::join(folder, partition_metadata_name);
  const auto bytes = files.read_file(path, 4096);
  if (!bytes) {
    if (io::is_not_found(bytes.error())) return std::nullopt;
    return unexpected(bytes.error());
  }
  const std::string_view text = as_text(*bytes);
  const size_t end = text.find('\n');
  const std::string_view second = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  int64_t version = -1;
  if (!checkpoint_internal::parse_number(value_of(text.substr(0, end), "version"), version) || version < 0)
    return fail(ErrorCode::CORRUPT_MESSAGE, "{} does not begin with a version", path);
  const auto id = Uuid::parse(value_of(second.substr(0, second.find('\n')), "topic_id"));
  if (!id || id->is_zero()) return fail(ErrorCode::CORRUPT_MESSAGE, "{} has no topic_id", path);
  return TopicId{*id};
}

Result<void> write_partition_metadata(io::FileSystem& files, const std::string& folder, TopicId topic_id) {
  return files.replace_file(io::join(folder, partition_metadata_name), as_bytes(fmt::format("version: 0\ntopic_id: {}", topic_id)));
}

}  // namespace castellan::log

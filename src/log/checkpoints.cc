// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/checkpoints.h"

#include <charconv>

namespace castellan::log {
namespace checkpoint_internal {

bool parse_number(std::string_view text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Result<std::vector<std::vector<std::string_view>>> parse_lines(std::string_view text, const std::string& path, size_t fields) {
  const auto next_line = [&text]() -> std::optional<std::string_view> {
    if (text.empty()) return std::nullopt;
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  };
  const auto malformed = [&path](std::string_view line) { return fail(ErrorCode::CORRUPT_MESSAGE, "{} has the malformed line \"{}\"", path, line); };

  std::vector<std::vector<std::string_view>> entries;
  const auto version_line = next_line();
  if (!version_line) return entries;  // an empty file is one without entries
  int64_t version = -1;
  if (!parse_number(*version_line, version)) return malformed(*version_line);
  if (version != 0) return fail(ErrorCode::CORRUPT_MESSAGE, "{} has version {}, only 0 is known", path, version);
  const auto count_line = next_line();
  if (!count_line) return entries;
  int64_t count = -1;
  if (!parse_number(*count_line, count)) return malformed(*count_line);
  while (const auto line = next_line()) {
    std::vector<std::string_view>& entry = entries.emplace_back();
    for (size_t at = 0; (at = line->find_first_not_of(" \t", at)) != std::string_view::npos;) {
      const size_t end = std::min(line->find_first_of(" \t", at), line->size());
      entry.push_back(line->substr(at, end - at));
      at = end;
    }
    if (entry.size() != fields) return malformed(*line);
  }
  if (static_cast<int64_t>(entries.size()) != count)
    return fail(ErrorCode::CORRUPT_MESSAGE, "{} should have {} entries, but has {}", path, count, entries.size());
  return entries;
}

}  // namespace checkpoint_internal

Result<OffsetsByPartition> read_checkpoint(const io::FileSystem& files, const std::string& path) {
  const auto bytes = files.read_file(path);
  if (!bytes) {
    if (io::is_not_found(bytes.error())) return OffsetsByPartition{};
    return unexpected(bytes.error());
  }
  TRY(const auto lines, checkpoint_internal::parse_lines(as_text(*bytes), path, 3));
  OffsetsByPartition offsets;
  for (const auto& fields : lines) {
    int64_t partition = -1, offset = -1;
    if (!checkpoint_internal::parse_number(fields[1], partition) || !checkpoint_internal::parse_number(fields[2], offset) || partition < 0 ||
        partition > INT32_MAX)
      return fail(ErrorCode::CORRUPT_MESSAGE, "{} has the malformed line \"{} {} {}\"", path, fields[0], fields[1], fields[2]);
    offsets[{std::string(fields[0]), static_cast<int32_t>(partition)}] = offset;
  }
  return offsets;
}

Result<void> write_checkpoint(io::FileSystem& files, const std::string& path, const OffsetsByPartition& offsets) {
  std::string text = fmt::format("0\n{}\n", offsets.size());
  for (const auto& [partition, offset] : offsets) text += fmt::format("{} {} {}\n", partition.topic, partition.partition, offset);
  return files.replace_file(path, as_bytes(text));
}

}  // namespace castellan::log

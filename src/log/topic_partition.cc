// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/topic_partition.h"

#include <charconv>

namespace castellan::log {
namespace {

constexpr size_t longest_name = 255;
constexpr std::pair<FolderKind, std::string_view> suffixes[] = {
    {FolderKind::deleted, "-delete"}, {FolderKind::stray, "-stray"}, {FolderKind::future, "-future"}};

}  // namespace

std::string folder_name(const TopicPartition& partition, FolderKind kind, const Uuid& unique) {
  if (kind == FolderKind::live) return partition.text();
  std::string tail = fmt::format("-{}.{:016x}{:016x}", partition.partition, unique.high, unique.low);
  for (const auto& [of_kind, suffix] : suffixes)
    if (of_kind == kind) tail += suffix;
  const size_t room = kind == FolderKind::future ? partition.topic.size() : longest_name - tail.size();
  return partition.topic.substr(0, room) + tail;
}

std::optional<PartitionFolder> parse_folder_name(std::string_view name) {
  PartitionFolder folder;
  folder.name = name;
  for (const auto& [kind, suffix] : suffixes) {
    if (!name.ends_with(suffix)) continue;
    const std::string_view without = name.substr(0, name.size() - suffix.size());
    const size_t dot = without.rfind('.');
    if (dot == std::string_view::npos || dot + 1 == without.size()) return std::nullopt;
    folder.kind = kind;
    name = without.substr(0, dot);
    break;
  }
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view number = name.substr(dash + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), folder.partition.partition);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() || folder.partition.partition < 0) return std::nullopt;
  folder.partition.topic = name.substr(0, dash);
  return folder;
}

}  // namespace castellan::log

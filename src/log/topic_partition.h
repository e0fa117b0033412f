// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A partition by name, and the names of folders in a log directory (B235): TOPIC-PARTITION, and behind that .<32 hex>-delete,
// -stray or -future for one that is being deleted, that the metadata does not know, or that is being copied in.

#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace castellan::log {

struct TopicPartition {
  std::string topic;
  int32_t partition = 0;

  std::string text() const { return topic + "-" + std::to_string(partition); }
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

enum class FolderKind { live, deleted, stray, future };

struct PartitionFolder {
  TopicPartition partition;  // of a deleted or stray one the topic's name may be cut off
  FolderKind kind = FolderKind::live;
  std::string name;

  friend bool operator==(const PartitionFolder&, const PartitionFolder&) = default;
};

// The name of a folder; `unique` tells two of the kinds that are not live apart. Deleted and stray names are cut to the 255 bytes that
// a file system allows.
std::string folder_name(const TopicPartition& partition, FolderKind kind = FolderKind::live, const Uuid& unique = {});
// Nothing when it is no partition's name.
std::optional<PartitionFolder> parse_folder_name(std::string_view name);

}  // namespace castellan::log

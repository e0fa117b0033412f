// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// partition.metadata: the id of the topic that a partition's folder belongs to (KIP-516, B236). Written, and synced, before the first
// append, so that no record can ever be taken for another topic's of the same name.

#pragma once

#include <optional>

#include "base/ids.h"
#include "io/file.h"

namespace castellan::log {

inline constexpr std::string_view partition_metadata_name = "partition.metadata";

// Nothing when the file is absent; CORRUPT_MESSAGE when it cannot be read as it should.
Result<std::optional<TopicId>> read_partition_metadata(const io::FileSystem& files, const std::string& folder);
Result<void> write_partition_metadata(io::FileSystem& files, const std::string& folder, TopicId topic_id);

}  // namespace castellan::log

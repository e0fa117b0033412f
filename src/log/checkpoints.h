// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A directory's checkpoint files: an offset per partition, as text (B230; doc/formats/checkpoints.md).

#pragma once

#include <map>

#include "io/file.h"
#include "log/topic_partition.h"

namespace castellan::log {

using OffsetsByPartition = std::map<TopicPartition, int64_t>;

inline constexpr std::string_view recovery_point_name = "recovery-point-offset-checkpoint";      // first offset not synced
inline constexpr std::string_view log_start_name = "log-start-offset-checkpoint";                // where DeleteRecords moved the start
inline constexpr std::string_view high_watermark_name = "replication-offset-checkpoint";
inline constexpr std::string_view cleaner_name = "cleaner-offset-checkpoint";                    // first offset not compacted

// An absent file has no entries; one that cannot be read as it should is CORRUPT_MESSAGE, named.
Result<OffsetsByPartition> read_checkpoint(const io::FileSystem& files, const std::string& path);
// Through a temporary file: old or new, never half.
Result<void> write_checkpoint(io::FileSystem& files, const std::string& path, const OffsetsByPartition& offsets);

namespace checkpoint_internal {
// The common form of all such files: a line with the version 0, a line with the number of entries, the entries.
Result<std::vector<std::vector<std::string_view>>> parse_lines(std::string_view text, const std::string& path, size_t fields);
bool parse_number(std::string_view text, int64_t& number);
}  // namespace checkpoint_internal

}  // namespace castellan::log

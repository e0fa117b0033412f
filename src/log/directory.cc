// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/directory.h"

#include <nlohmann/json.hpp>

#include "log/partition_metadata.h"

namespace castellan::log {
namespace {

constexpr std::string_view lock_name = ".lock";
constexpr std::string_view clean_shutdown_name = ".kafka_cleanshutdown";
// Ours, beside Kafka's files: a line "+ TOPIC_ID PARTITION" for a folder that was made, "- ..." for one that was given up.
// Kafka looks at folders only and leaves it alone.
constexpr std::string_view made_name = ".castellan_partitions";

std::string made_line(char sign, TopicId topic_id, int32_t partition) { return fmt::format("{} {} {}\n", sign, topic_id, partition); }

}  // namespace

Result<std::unique_ptr<io::FileLock>> lock_directory(io::FileSystem& files, const std::string& directory) {
  return files.lock(io::join(directory, lock_name));
}

Result<std::optional<CleanShutdown>> read_clean_shutdown(const io::FileSystem& files, const std::string& directory) {
  const auto bytes = files.read_file(io::join(directory, clean_shutdown_name), 4096);
  if (!bytes) {
    if (io::is_not_found(bytes.error())) return std::nullopt;
    return unexpected(bytes.error());
  }
  // The file's presence is the message; before Kafka 3.7 it was empty.
  CleanShutdown result;
  const auto json = nlohmann::json::parse(as_text(*bytes), nullptr, false);
  if (json.is_object() && json.contains("brokerEpoch") && json["brokerEpoch"].is_number_integer()) result.broker_epoch = json["brokerEpoch"].get<int64_t>();
  return result;
}

Result<std::unique_ptr<LogDirectory>> LogDirectory::open(io::FileSystem& files, std::string path) {
  std::unique_ptr<LogDirectory> directory(new LogDirectory(files, std::move(path)));
  TRY(directory->meta_properties_, read_meta_properties(files, directory->path_));
  TRY(directory->clean_shutdown_, read_clean_shutdown(files, directory->path_));
  TRY(const auto entries, files.list(directory->path_));
  for (const auto& entry : entries) {
    if (!entry.is_directory || entry.name == "__cluster_metadata-0" || entry.name == "remote-log-index-cache") continue;
    if (auto folder = parse_folder_name(entry.name)) {
      directory->folders_.push_back(std::move(*folder));
    } else {
      directory->notices_.push_back({Notice::Level::debug, fmt::format("{} is no partition's folder and is ignored", io::join(directory->path_, entry.name))});
    }
  }
  const std::tuple<std::string_view, OffsetsByPartition*, std::string_view> checkpoints[] = {
      {recovery_point_name, &directory->recovery_points, "all its partitions are checked from their start"},
      {log_start_name, &directory->log_starts, "partitions begin where their first segment does; records removed by DeleteRecords may be back"},
      {high_watermark_name, &directory->high_watermarks, "partitions begin with the high watermark at their log start"},
      {cleaner_name, &directory->cleaned, "compacted partitions are compacted from their start"},
  };
  for (const auto& [name, offsets, consequence] : checkpoints) {
    auto read = read_checkpoint(files, io::join(directory->path_, name));
    if (read) {
      *offsets = std::move(*read);
    } else if (read.error().code == ErrorCode::CORRUPT_MESSAGE) {
      directory->notices_.push_back({Notice::Level::warning, fmt::format("{}; it is ignored: {}", read.error().message, consequence)});
    } else {
      return unexpected(std::move(read).error());
    }
  }
  TRY_VOID(directory->read_made());
  return directory;
}

Result<void> LogDirectory::begin() {
  TRY_VOID(files_.remove(io::join(path_, clean_shutdown_name)));
  return files_.sync_directory(path_);
}

OpenOptions LogDirectory::open_options(const TopicPartition& partition, WallTime now) const {
  const auto of = [&partition](const OffsetsByPartition& offsets, int64_t otherwise) {
    const auto found = offsets.find(partition);
    return found == offsets.end() ? otherwise : found->second;
  };
  return {.clean_shutdown = clean_shutdown_.has_value(),
          .recovery_point = of(recovery_points, 0),
          .log_start_offset = of(log_starts, 0),
          .high_watermark = of(high_watermarks, -1),
          .now = now};
}

void LogDirectory::forget(const TopicPartition& partition) {
  for (OffsetsByPartition* offsets : {&recovery_points, &log_starts, &high_watermarks, &cleaned}) offsets->erase(partition);
}

Result<void> LogDirectory::make_partition(const TopicPartition& partition, TopicId topic_id) {
  const std::string folder = folder_path(partition);
  TRY_VOID(files_.make_directories(folder));
  TRY_VOID(write_partition_metadata(files_, folder, topic_id));  // syncs the folder
  TRY_VOID(files_.sync_directory(path_));
  if (made(topic_id, partition.partition)) return {};
  TRY_VOID(journal(made_line('+', topic_id, partition.partition)));
  made_.insert({topic_id, partition.partition});
  return {};
}

Result<void> LogDirectory::forget_made(TopicId topic_id, int32_t partition) {
  if (!made(topic_id, partition)) return {};
  TRY_VOID(journal(made_line('-', topic_id, partition)));
  made_.erase({topic_id, partition});
  return {};
}

Result<void> LogDirectory::journal(std::string_view line) {
  if (!made_file_) {
    const bool is_new = !files_.exists(io::join(path_, made_name));
    TRY(made_file_, files_.open(io::join(path_, made_name), io::OpenMode::create));
    TRY_VOID(made_file_->truncate(made_size_));  // without a line that a crash cut off
    if (is_new) TRY_VOID(files_.sync_directory(path_));
  }
  TRY_VOID(made_file_->write_at(made_size_, as_bytes(line)));
  TRY_VOID(made_file_->sync());
  made_size_ += line.size();
  return {};
}

Result<void> LogDirectory::read_made() {
  const auto bytes = files_.read_file(io::join(path_, made_name), uint64_t{1} << 30);
  if (!bytes) {
    if (io::is_not_found(bytes.error())) return {};
    return unexpected(bytes.error());
  }
  // A line that is cut off at the end was never answered for; any other that cannot be read is left out: the list only guards.
  std::string_view left = as_text(*bytes);
  size_t unread = 0;
  while (true) {
    const size_t end = left.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(end + 1);
    made_size_ += end + 1;
    const size_t space = line.rfind(' ');
    int64_t partition = -1;
    const auto id = space != std::string_view::npos && space > 2 ? Uuid::parse(line.substr(2, space - 2)) : Result<Uuid>(unexpected(Error{}));
    if (!id || !checkpoint_internal::parse_number(line.substr(space + 1), partition)) {
      ++unread;
    } else if (line[0] == '+') {
      made_.insert({TopicId{*id}, static_cast<int32_t>(partition)});
    } else if (line[0] == '-') {
      made_.erase({TopicId{*id}, static_cast<int32_t>(partition)});
    }
  }
  if (unread > 0)
    notices_.push_back({Notice::Level::warning, fmt::format("{} has {} lines that cannot be read; a lost folder of theirs would not be noticed",
                                                            io::join(path_, made_name), unread)});
  return {};
}

Result<void> LogDirectory::end(int64_t broker_epoch) {
  const std::string path = io::join(path_, clean_shutdown_name);
  TRY(const auto file, files_.open(path, io::OpenMode::create));
  TRY_VOID(file->truncate(0));
  TRY_VOID(file->write_at(0, as_bytes(fmt::format("{{\"version\":0,\"brokerEpoch\":{}}}", broker_epoch))));
  TRY_VOID(file->sync());
  return files_.sync_directory(path_);
}

}  // namespace castellan::log

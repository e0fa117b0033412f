// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/log_directories.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/metrics.h"

namespace castellan::broker {

Result<void> LogDirectories::open() {
  std::optional<int64_t> epoch;
  bool all_clean = true;
  std::set<std::string> seen;
  for (const auto& path : broker_.static_server().log_dirs) {
    if (!seen.insert(path).second) continue;
    auto& directory = *directories_.emplace_back(std::make_unique<Directory>());
    directory.path = path;
    auto& files = broker_.surroundings().files;
    if (auto made = files.make_directories(path); !made) {
      set_offline(directory, made.error().message);
      all_clean = false;
      continue;
    }
    auto opened = log::LogDirectory::open(files, path);
    if (!opened) {
      set_offline(directory, opened.error().message);
      all_clean = false;
      continue;
    }
    directory.state = std::move(*opened);
    broker_.print(directory.state->take_notices());
    if (const auto& properties = directory.state->meta_properties(); properties && properties->directory_id) {
      directory.id = DirectoryId{*properties->directory_id};
    }
    if (const auto& clean = directory.state->clean_shutdown(); clean && (!epoch || *epoch == clean->broker_epoch)) {
      epoch = clean->broker_epoch;
    } else {
      all_clean = false;
    }
    if (auto begun = directory.state->begin(); !begun) set_offline(directory, begun.error().message);
  }
  if (all_clean && epoch) previous_broker_epoch_ = *epoch;
  if (!roomiest()) {
    return fail(ErrorCode::KAFKA_STORAGE_ERROR, "none of log.dirs can be used: {}: {}", directories_.front()->path, directories_.front()->offline_reason);
  }
  return {};
}

LogDirectories::Directory* LogDirectories::by_id(DirectoryId id) {
  for (auto& directory : directories_) {
    if (directory->id == id) return directory.get();
  }
  return nullptr;
}

LogDirectories::Directory* LogDirectories::by_path(std::string_view path) {
  for (auto& directory : directories_) {
    if (directory->path == path) return directory.get();
  }
  return nullptr;
}

LogDirectories::Directory* LogDirectories::roomiest() {
  Directory* best = nullptr;
  for (auto& directory : directories_) {
    if (directory->online() && (!best || directory->partitions < best->partitions)) best = directory.get();
  }
  return best;
}

std::vector<DirectoryId> LogDirectories::online_ids() const {
  std::vector<DirectoryId> ids;
  for (const auto& directory : directories_) {
    if (directory->online()) ids.push_back(directory->id);
  }
  std::ranges::sort(ids);
  return ids;
}

std::vector<DirectoryId> LogDirectories::offline_ids() const {
  std::vector<DirectoryId> ids;
  for (const auto& directory : directories_) {
    if (!directory->online() && !directory->id.value.is_zero()) ids.push_back(directory->id);
  }
  std::ranges::sort(ids);
  return ids;
}

void LogDirectories::set_offline(Directory& directory, const std::string& reason) {
  spdlog::error("log directory {} is offline: {}", directory.path, reason);
  directory.offline_reason = reason;
  broker_.metrics().directory_failures.add();
  directory.state.reset();
}

}  // namespace castellan::broker

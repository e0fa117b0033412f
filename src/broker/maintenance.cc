// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/maintenance.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/partitions.h"

namespace castellan::broker {

void Maintenance::start() {
  every("log.retention.check.interval.ms", &Maintenance::apply_retention);
  every("log.flush.offset.checkpoint.interval.ms", &Maintenance::write_offset_checkpoints);
  every("replica.high.watermark.checkpoint.interval.ms", &Maintenance::write_high_watermarks);
  every("producer.id.expiration.check.interval.ms", &Maintenance::expire_producers);
}

void Maintenance::every(const char* interval_key, Action action) {
  constexpr std::chrono::milliseconds never = std::chrono::days(365);
  const auto interval = std::min(broker_.server().milliseconds(interval_key), never);
  broker_.deadlines().add(broker_.now().monotonic + interval, [this, interval_key, action] {
    (this->*action)();
    every(interval_key, action);
  });
}

void Maintenance::apply_retention() {
  const WallTime now = broker_.now().wall;
  for (const auto& [id, partition] : broker_.partitions().all()) {
    if (partition->offline()) continue;
    auto deleted = partition->log()->delete_old_segments(now);
    broker_.note_damage(*partition);
    if (!deleted) {
      spdlog::error("retention of {}: {}", partition->name(), deleted.error().message);
      if (deleted.error().code == ErrorCode::KAFKA_STORAGE_ERROR) return broker_.partitions().on_storage_error(*partition, deleted.error());
    } else if (*deleted > 0) {
      spdlog::info("retention of {}: {} segments deleted, it starts at {} now", partition->name(), *deleted, partition->log()->log_start_offset());
      partition->waiting.look();
    }
  }
  schedule_file_removal();
}

void Maintenance::schedule_file_removal() {
  std::optional<WallTime> first;
  for (const auto& [id, partition] : broker_.partitions().all()) {
    if (partition->offline()) continue;
    if (const auto due = partition->log()->next_file_removal(); due && (!first || *due < *first)) first = due;
  }
  broker_.deadlines().cancel(removal_);
  if (!first) return;
  const Now now = broker_.now();
  const auto wait = std::chrono::milliseconds(std::max<int64_t>(first->milliseconds - now.wall.milliseconds, 1));
  removal_ = broker_.deadlines().add(now.monotonic + wait, [this] { remove_files(); });
}

void Maintenance::remove_files() {
  const WallTime now = broker_.now().wall;
  for (const auto& [id, partition] : broker_.partitions().all()) {
    if (!partition->offline()) partition->log()->remove_deleted_files(now);
  }
  schedule_file_removal();
}

void Maintenance::write_offset_checkpoints() {
  for (const auto& [id, partition] : broker_.partitions().all()) {
    auto* log = partition->log();
    if (!log) continue;
    // A segment that was rolled is synced in the background; the active one is left to the system, as Kafka does.
    const auto segments = log->segments();
    if (!segments.empty() && log->recovery_point() < segments.back().base_offset) flush(*partition);
  }
  for (auto& directory : broker_.partitions().directories().all()) {
    if (!directory->online()) continue;
    const auto recovery_points = directory->state->recovery_points;
    const auto log_starts = directory->state->log_starts;
    broker_.partitions().note_offsets(*directory);
    if (directory->state->recovery_points != recovery_points) write_later(*directory, log::recovery_point_name, directory->state->recovery_points);
    if (directory->state->log_starts == log_starts) continue;
    // Here and now: a DeleteRecords that comes next writes this file too.
    if (auto written = directory->state->write_log_starts(); !written) broker_.partitions().fail_directory(*directory, written.error().message);
  }
}

void Maintenance::write_high_watermarks() {
  for (auto& directory : broker_.partitions().directories().all()) {
    if (!directory->online()) continue;
    bool changed = false;
    for (const auto& [id, partition] : broker_.partitions().all()) {
      if (partition->offline() || partition->directory() != directory->path) continue;
      int64_t& offset = directory->state->high_watermarks[{partition->topic(), partition->index()}];
      changed |= std::exchange(offset, partition->high_watermark()) != partition->high_watermark();
    }
    if (changed) write_later(*directory, log::high_watermark_name, directory->state->high_watermarks);
  }
}

// Checkpoints are synced: that is for a worker, or every client would wait for the disk.
void Maintenance::write_later(const LogDirectories::Directory& directory, std::string_view name, log::OffsetsByPartition offsets) {
  auto& files = broker_.surroundings().files;
  broker_.surroundings().workers.run([this, &files, &loop = broker_.surroundings().loop, path = directory.path, name, offsets = std::move(offsets)] {
    auto written = log::write_checkpoint(files, io::join(path, name), offsets);
    if (written) return;
    loop.post([this, path, reason = written.error().message] {
      if (auto* failed = broker_.partitions().directories().by_path(path)) broker_.partitions().fail_directory(*failed, reason);
    });
  });
}

void Maintenance::expire_producers() {
  const WallTime now = broker_.now().wall;
  for (const auto& [id, partition] : broker_.partitions().all()) {
    if (!partition->offline()) partition->log()->expire_producers(now);
  }
}

void Maintenance::flush(Partition& partition) {
  if (!flushing_.insert(partition.id()).second) return;
  auto task = std::make_shared<log::FlushTask>(partition.log()->begin_flush());
  broker_.surroundings().workers.run([this, &loop = broker_.surroundings().loop, task, id = partition.id()] {
    auto result = std::make_shared<Result<void>>(task->run());
    loop.post([this, task, result, id] {
      flushing_.erase(id);
      auto* partition = broker_.partitions().hosted(id);
      if (!partition || partition->offline()) return;
      if (*result) {
        partition->log()->finish_flush(*task);
      } else {
        broker_.partitions().on_storage_error(*partition, result->error());
      }
    });
  });
}

}  // namespace castellan::broker

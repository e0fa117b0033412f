// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/compaction.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/partitions.h"
#include "log/cleaner.h"

namespace castellan::broker {

void Compaction::start() {
  if (broker_.static_server().values.boolean("log.cleaner.enable")) look_later();
}

void Compaction::stop() { *cancelled_ = true; }

void Compaction::look_later() {
  broker_.deadlines().add(broker_.now().monotonic + broker_.server().milliseconds("log.cleaner.backoff.ms"), [this] { look(); });
}

void Compaction::look() {
  const WallTime now = broker_.now().wall;
  Partition* dirtiest = nullptr;
  std::optional<log::CleanCandidate> best;
  for (const auto& [id, partition] : broker_.partitions().all()) {
    auto* log = partition->log();
    if (!log || !log->config().cleanup_compact || uncleanable_.contains(id)) continue;
    auto* directory = broker_.partitions().directories().by_path(partition->directory());
    if (!directory || !directory->online()) continue;
    const auto& cleaned = directory->state->cleaned;
    const auto checkpoint = cleaned.find({partition->topic(), partition->index()});
    auto candidate = log->clean_candidate(checkpoint == cleaned.end() ? std::nullopt : std::optional(checkpoint->second), now);
    if (!candidate) {
      spdlog::error("{} is not compacted: {}", partition->name(), candidate.error().message);
      uncleanable_.insert(id);
      continue;
    }
    if (!candidate->due(log->config())) continue;
    if (best && !candidate->lag_exceeded && candidate->dirty_ratio() <= best->dirty_ratio()) continue;
    best = *candidate;
    dirtiest = partition.get();
  }
  if (!best) return look_later();
  clean(*dirtiest, *best);
}

void Compaction::clean(Partition& partition, const log::CleanCandidate& candidate) {
  auto begun = partition.log()->begin_clean(candidate, broker_.now().wall);
  if (!begun) {
    spdlog::error("{} is not compacted: {}", partition.name(), begun.error().message);
    uncleanable_.insert(partition.id());
    return look_later();
  }
  std::shared_ptr<log::CleanTask> task = std::move(*begun);
  const auto memory = static_cast<size_t>(broker_.server().values.integer("log.cleaner.dedupe.buffer.size"));
  const double load = broker_.server().values.real("log.cleaner.io.buffer.load.factor");
  broker_.surroundings().workers.run([this, &loop = broker_.surroundings().loop, cancelled = cancelled_, task, memory, load, id = partition.id()]() mutable {
    log::OffsetMap map(memory, load);
    auto result = std::make_shared<Result<void>>(task->run(map, cancelled.get()));
    loop.post([this, cancelled, task = std::move(task), result, id] {
      if (!*cancelled) finish(id, *task, *result);
    });
  });
}

void Compaction::finish(PartitionId id, log::CleanTask& task, const Result<void>& result) {
  auto* partition = broker_.partitions().hosted(id);
  if (!partition || partition->offline()) return look();
  auto stats = result ? partition->log()->finish_clean(task, broker_.now().wall) : unexpected(result.error());
  broker_.print(partition->log()->take_notices());
  if (!stats) {
    spdlog::error("compaction of {} failed: {}", partition->name(), stats.error().message);
    if (stats.error().code == ErrorCode::KAFKA_STORAGE_ERROR) {
      broker_.partitions().on_storage_error(*partition, stats.error());
    } else {
      uncleanable_.insert(id);
    }
    return look();
  }
  spdlog::info("compacted {} up to {}: {} of {} records and {} of {} bytes are left", partition->name(), stats->end_offset, stats->records_kept,
               stats->records_read, stats->bytes_written, stats->bytes_read);
  if (auto* directory = broker_.partitions().directories().by_path(partition->directory()); directory && directory->online()) {
    directory->state->cleaned[{partition->topic(), partition->index()}] = stats->end_offset;
    if (auto written = directory->state->write_cleaned(); !written) broker_.partitions().fail_directory(*directory, written.error().message);
  }
  look();
}

}  // namespace castellan::broker

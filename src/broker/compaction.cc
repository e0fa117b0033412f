// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/compaction.h"

#include <spdlog/spdlog.h>

#include <thread>

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

namespace {

// Waits until so many bytes may have been read and written at `rate` per second; none when the rate is without bound. A change of
// the setting counts from the next log on.
log::CleanTask::Pace pace_of(double rate, const io::Clock& clock, const std::atomic<bool>* cancelled) {
  constexpr double unbounded = 1e15;
  if (rate >= unbounded) return {};
  return [rate = std::max(rate, 1.0), &clock, cancelled, start = clock.monotonic()](uint64_t bytes) {
    const auto due = start + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(static_cast<double>(bytes) / rate, 86400.0)));
    while (!*cancelled && clock.monotonic() < due) std::this_thread::sleep_for(std::min<Duration>(due - clock.monotonic(), std::chrono::milliseconds(50)));
  };
}

}  // namespace

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
  const double rate = broker_.server().values.real("log.cleaner.io.max.bytes.per.second");
  broker_.surroundings().workers.run([this, &loop = broker_.surroundings().loop, &clock = broker_.surroundings().clock, cancelled = cancelled_, task, memory, load, rate,
                                      id = partition.id()]() mutable {
    log::OffsetMap map(memory, load);
    auto result = std::make_shared<Result<void>>(task->run(map, cancelled.get(), pace_of(rate, clock, cancelled.get())));
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

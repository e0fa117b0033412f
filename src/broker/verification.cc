// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/verification.h"

#include <spdlog/spdlog.h>

#include "broker/broker.h"
#include "broker/partitions.h"

namespace castellan::broker {

namespace {

constexpr uint64_t piece_bytes = 4 << 20;
// So many times as long as a piece took is waited before the next one.
constexpr int pause_factor = 4;
constexpr std::chrono::milliseconds pause_most{1000};

}  // namespace

void Verification::start() {
  for (const auto& [id, partition] : broker_.partitions().all()) {
    if (!partition->offline()) waiting_.push_back(id);
  }
  next();
}

void Verification::next() {
  while (!waiting_.empty()) {
    const PartitionId id = waiting_.front();
    auto* partition = broker_.partitions().hosted(id);
    auto begun = partition && !partition->offline() ? partition->log()->begin_verify(piece_bytes) : std::nullopt;
    if (!begun) {
      waiting_.pop_front();
      continue;
    }
    auto task = std::make_shared<log::VerifyTask>(std::move(*begun));
    broker_.surroundings().workers.run([this, &loop = broker_.surroundings().loop, &clock = broker_.surroundings().clock, id, task] {
      const MonotonicTime start = clock.monotonic();
      task->run();
      loop.post([this, id, task, took = clock.monotonic() - start] { finish(id, *task, took); });
    });
    return;
  }
}

void Verification::finish(PartitionId id, log::VerifyTask& task, Duration took) {
  if (waiting_.empty()) return;  // stopped
  if (auto* partition = broker_.partitions().hosted(id); partition && !partition->offline()) {
    if (auto finished = partition->log()->finish_verify(task); !finished) broker_.complain(fmt::format("{}: {}", partition->name(), finished.error().message));
    broker_.note_damage(*partition);
  }
  broker_.deadlines().add(broker_.now().monotonic + std::min<Duration>(pause_factor * took, pause_most), [this] { next(); });
}

}  // namespace castellan::broker

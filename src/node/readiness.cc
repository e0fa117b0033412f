// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/readiness.h"

#include <fmt/chrono.h>

namespace castellan::node {

namespace {

std::string utc(WallTime time) {
  const auto seconds = std::chrono::sys_seconds(std::chrono::seconds(time.milliseconds / 1000));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", seconds, time.milliseconds % 1000);
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::vector<std::string> what_is_missing(const ReadinessFacts& facts) {
  std::vector<std::string> missing;
  if (facts.stopping) return {"the node is stopping"};
  const auto& view = facts.view;
  if (!view.leader) {
    missing.push_back(fmt::format("the quorum has no leader that this node knows of, since {} ({:.1f} s); its epoch is {}", utc(view.leader_since.wall),
                                  seconds(facts.now.monotonic - view.leader_since.monotonic), view.epoch));
  }
  if (view.high_watermark < Offset{0}) {
    missing.push_back("no record of the metadata is known to be committed yet");
  } else if (const Duration silent = facts.now.monotonic - view.advanced; facts.silence_allowed > Duration::zero() && silent > facts.silence_allowed) {
    missing.push_back(fmt::format("the metadata has not advanced for {:.1f} s: its committed end is still {}", seconds(silent), view.high_watermark));
  }
  if (!facts.broker_lacks.empty()) missing.push_back(facts.broker_lacks);
  return missing;
}

Duration silence_allowed(const config::ServerConfig& config) {
  const auto idle = config.milliseconds("metadata.max.idle.interval.ms");
  if (idle.count() == 0) return Duration::zero();
  return 4 * idle + config.milliseconds("controller.quorum.fetch.timeout.ms");
}

}  // namespace castellan::node

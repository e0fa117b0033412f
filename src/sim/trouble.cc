// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/trouble.h"

#include <fmt/format.h>

#include <algorithm>

namespace castellan::sim {
namespace {

constexpr std::array<std::string_view, trouble_count> names = {
    "loss", "slowness", "doubling", "reset", "partition", "one-way", "kill", "power", "stop", "pause", "ambush", "clock-rate", "clock-jump", "slow-disk",
    "disk-error", "full-disk", "voters", "replace", "wipe", "snapshots", "upgrade",
};

}  // namespace

std::string_view name_of(Trouble trouble) { return names[static_cast<size_t>(trouble)]; }

std::optional<Trouble> find_trouble(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Trouble>(found - names.begin());
}

Plan make_plan(uint64_t seed, Profile profile, Troubles without) {
  Prng random(seed * 2 + 1);
  Plan plan;
  constexpr std::array<int, 8> voters = {3, 3, 3, 3, 2, 5, 4, 1};
  plan.voters = voters[random.below(voters.size())];
  plan.static_voters = random.chance(0.2);
  plan.spares = plan.static_voters ? 0 : static_cast<int>(random.below(3));
  plan.observers = random.chance(0.3) ? 1 : 0;
  plan.clients = static_cast<int>(random.between(1, 4));
  // Most seeds have a few kinds of trouble, and those much; some have everything.
  const double share = random.chance(0.15) ? 1.0 : 0.45;
  for (double& weight : plan.weight) {
    const double drawn = 0.2 + static_cast<double>(random.below(1000)) / 1000;
    weight = random.chance(share) ? drawn : 0;
  }
  plan.steps = static_cast<int>(profile == Profile::brief ? random.between(4, 14) : random.between(15, 60));
  plan.step_ms = random.between(20, 700);
  plan.requests = static_cast<int>(profile == Profile::brief ? random.between(20, 80) : random.between(100, 500));

  constexpr std::array<int64_t, 3> fetch_timeouts = {2000, 1000, 700};
  plan.fetch_timeout_ms = fetch_timeouts[random.below(fetch_timeouts.size())];
  const int64_t election_timeout = plan.fetch_timeout_ms / random.between(2, 4);
  plan.properties = fmt::format(
      "controller.quorum.fetch.timeout.ms={}\ncontroller.quorum.election.timeout.ms={}\ncontroller.quorum.election.backoff.max.ms={}\n"
      "controller.quorum.request.timeout.ms={}\n",
      plan.fetch_timeout_ms, election_timeout, election_timeout, plan.fetch_timeout_ms);
  plan.short_sessions = random.chance(0.25);
  plan.properties += plan.short_sessions ? "broker.session.timeout.ms=3000\n" : "broker.session.timeout.ms=600000\n";
  if (random.chance(0.3)) plan.properties += "metadata.max.idle.interval.ms=0\n";
  const bool auto_join = random.chance(0.2);
  const int64_t between_snapshots = random.between(1, 4) * 1500;
  if (random.chance(0.5)) plan.properties += "controller.quorum.fetch.max.bytes=1000\ncontroller.quorum.fetch.snapshot.max.bytes=700\n";

  for (size_t i = 0; i < trouble_count; ++i) {
    if (without.test(i)) plan.weight[i] = 0;
  }
  if (plan.has(Trouble::snapshots)) plan.properties += fmt::format("metadata.log.max.record.bytes.between.snapshots={}\nmetadata.max.retention.bytes=2000\n", between_snapshots);
  if (plan.static_voters) {
    // A voter that is told its voters by a file and has an empty disk takes itself for one of them.
    for (const Trouble trouble : {Trouble::replace, Trouble::wipe}) plan.weight[static_cast<size_t>(trouble)] = 0;
  }
  if (auto_join && !plan.static_voters && plan.has(Trouble::voters)) plan.properties += "controller.quorum.auto.join.enable=true\n";
  return plan;
}

}  // namespace castellan::sim

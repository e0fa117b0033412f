// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/run.h"

#include "base/check.h"
#include "sim/clients.h"
#include "sim/storm.h"

namespace castellan::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A CHECK that fails in a simulated node ends the run, not this process. What it leaves behind must not be touched any more.
struct CheckFailed {
  std::string message;
};
void throw_check(const std::string& message) { throw CheckFailed{message}; }

struct Run {
  explicit Run(const Options& options, const Plan& plan) : world(options.seed, plan, options.trace), storm(world, options.seed), clients(world, options.seed) {
    world.model_trace = options.model_trace;
  }

  void go() {
    const Plan& plan = world.plan;
    world.start();
    const auto storm_time = milliseconds(plan.steps * plan.step_ms);
    clients.begin(plan.requests, storm_time);
    storm.begin();
    if (!world.run_until([&] { return storm.over(); }, 20 * storm_time + seconds(10)) && !world.report.clean()) return;
    storm.heal();
    calm();
  }

  // The bounds are generous: rounds of elections with random timeouts, and a snapshot to load.
  void calm() {
    const milliseconds patience(40 * world.plan.fetch_timeout_ms);
    const auto demand = [&](std::string_view what, const std::function<bool()>& done) {
      if (world.report.clean() && !world.run_until(done, patience)) world.report.violate("progress", "{} within {} s after the storm", what, patience.count() / 1000);
    };
    demand("no controller is active", [&] { return world.active() != nullptr; });
    clients.begin(20 * world.plan.clients, patience / 2);
    demand("a client is not answered", [&] { return clients.done_by_the_slowest() >= 3; });
    for (int i = 0; i < 50 && world.report.clean() && !storm.replacing_done(); ++i) world.run_for(milliseconds(world.plan.fetch_timeout_ms / 2));
    if (world.report.clean() && !storm.replacing_done()) world.report.violate("progress", "a dead voter cannot be removed");
    std::string who;
    demand("not every node catches up", [&] { return (who = who_lags()).empty(); });
    if (!who.empty() && world.report.clean()) world.report.violate("progress", "{} does not catch up", who);
    compare_images();
    if (world.report.clean()) stay_calm();
  }

  // Nothing happens, so nothing changes: no election, no busy loop. Then one node that nobody needs is cut off for a while and comes
  // back: that disturbs nobody either.
  void stay_calm() {
    const Node* leader = world.leader();
    if (!leader) return world.report.violate("stable leadership", "the leader is gone though nothing happened");
    const Epoch epoch = leader->core()->epoch();
    const uint64_t events = world.schedule.events();
    const milliseconds pause(3 * world.plan.fetch_timeout_ms);
    world.run_for(pause);
    const auto limit = static_cast<uint64_t>(pause.count()) * world.nodes.size() / 2 + 1000;
    if (world.schedule.events() - events > limit) world.report.violate("busy loop", "{} events in {} ms in which nothing happened", world.schedule.events() - events, pause.count());
    if (Node* cut = dispensable(*leader); cut && world.report.clean()) {
      for (auto& other : world.nodes) {
        if (other.get() == cut) continue;
        world.network.cut(cut->id(), other->id());
        world.network.cut(other->id(), cut->id());
      }
      world.run_for(pause);
      world.network.heal();
      world.run_for(pause);
    }
    leader = world.leader();
    if (!leader || leader->core()->epoch() != epoch) {
      world.report.violate("stable leadership", "epoch {} ended in {} though nothing happened that should end it", epoch, leader ? leader->core()->epoch() : Epoch{-1});
    }
  }

  // Not the leader, and the leader has a majority without it.
  Node* dispensable(const Node& leader) {
    const raft::VoterSet& voters = leader.core()->voters();
    for (auto& node : world.nodes) {
      if (node.get() == &leader) continue;
      const bool votes = voters.contains(node->key());
      if (voters.size() - votes >= voters.majority()) return node.get();
    }
    return nullptr;
  }

  std::string who_lags() {
    if (!world.active()) return "the leader";
    for (auto& node : world.nodes) {
      const raft::Core* core = node->core();
      if (!core || node->metadata().view().applied.value + 1 < world.committed.end()) return fmt::format("node {}", node->id());
    }
    return "";
  }

  void compare_images() {
    if (!world.report.clean()) return;
    // Idle records come at any time; everybody is at the same end at some moment.
    const auto equal = [&] {
      for (auto& node : world.nodes) {
        const auto image = node->metadata().image();
        if (image->last_offset != world.committed.image().last_offset) return false;
      }
      return true;
    };
    if (!world.run_until(equal, seconds(30))) {
      if (world.report.clean()) world.report.violate("progress", "the nodes are never at the same offset");
      return;
    }
    for (auto& node : world.nodes) {
      if (!(*node->metadata().image() == world.committed.image())) {
        world.report.violate("snapshot equality", "node {} has other metadata at offset {} than the committed log makes", node->id(), world.committed.image().last_offset);
      }
    }
  }

  World world;
  Storm storm;
  Clients clients;
};

// Reachable, so that a leak checker does not mistake it for a leak.
std::vector<std::unique_ptr<Run>>& abandoned() {
  static std::vector<std::unique_ptr<Run>> runs;
  return runs;
}

}  // namespace

Outcome run_seed(const Options& options) {
  Plan plan = make_plan(options.seed, options.profile, options.without);
  if (options.steps) plan.steps = *options.steps;
  auto run = std::make_unique<Run>(options, plan);
  bool broken = false;
  set_check_failure_hook(throw_check);
  try {
    run->go();
  } catch (const CheckFailed& failed) {
    run->world.report.violate("check", "{}", failed.message);
    broken = true;
  } catch (const std::exception& error) {
    run->world.report.violate("check", "an exception: {}", error.what());
    broken = true;
  }
  set_check_failure_hook(nullptr);
  World& world = run->world;
  Outcome outcome{.violation = world.report.violation(), .events = world.schedule.events(), .messages = world.network.messages(),
                  .simulated_ms = world.schedule.now().nanoseconds / 1'000'000, .steps = plan.steps, .epochs = world.one_leader.epochs(),
                  .acknowledged = world.replies.acknowledged(), .committed = world.committed.end(), .voter_changes = world.voter_history.changes(),
                  .snapshots = world.snapshots.count()};
  for (const auto& node : world.nodes) outcome.lives += node->life();
  if (world.trace && outcome.violation) world.trace("violation: {}: {}", outcome.violation->checker, outcome.violation->what);
  if (broken) abandoned().push_back(std::move(run));
  return outcome;
}

Options shrink(Options options) {
  const auto fails = [](const Options& smaller) { return run_seed(smaller).violation.has_value(); };
  options.trace = nullptr;
  options.model_trace = nullptr;
  for (size_t i = 0; i < trouble_count; ++i) {
    Options smaller = options;
    smaller.without.set(i);
    const Plan plan = make_plan(options.seed, options.profile, options.without);
    if (!plan.has(static_cast<Trouble>(i)) || !fails(smaller)) continue;
    options = smaller;
  }
  for (int steps = options.steps.value_or(make_plan(options.seed, options.profile, options.without).steps); steps > 0;) {
    Options smaller = options;
    smaller.steps = steps > 4 ? steps / 2 : steps - 1;
    if (!fails(smaller)) break;
    options = smaller;
    steps = *smaller.steps;
  }
  return options;
}

std::string replay_command(const Options& options) {
  std::string command = fmt::format("castellan-sim replay {}", options.seed);
  if (options.profile == Profile::extended) command += " --profile long";
  std::string without;
  for (size_t i = 0; i < trouble_count; ++i) {
    if (options.without.test(i)) without += fmt::format("{}{}", without.empty() ? "" : ",", name_of(static_cast<Trouble>(i)));
  }
  if (!without.empty()) command += " --without " + without;
  if (options.steps) command += fmt::format(" --steps {}", *options.steps);
  return command;
}

std::vector<double> failover_times_ms(uint64_t seed, int crashes) {
  Plan plan;
  plan.clients = 0;
  World world(seed, plan, nullptr);
  world.start();
  std::vector<double> times;
  for (int i = 0; i < crashes; ++i) {
    if (!world.run_until([&] { return world.active() != nullptr; }, seconds(60))) return times;
    world.run_for(seconds(2));  // everybody has caught up
    Node* leader = world.active();
    if (!leader) return times;
    leader->crash(nullptr);
    const MonotonicTime begun = world.schedule.now();
    if (!world.run_until([&] { return world.active() != nullptr; }, seconds(60))) return times;
    times.push_back(static_cast<double>((world.schedule.now() - begun).count()) / 1e6);
    world.start_node(*leader);
  }
  return times;
}

}  // namespace castellan::sim

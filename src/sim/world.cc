// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/world.h"

#include <algorithm>

namespace castellan::sim {
namespace {

constexpr uint64_t events_max = 5'000'000;
constexpr int still_max = 20'000;
constexpr size_t no_role = 99;
constexpr size_t leader_role = 4;
static_assert(std::is_same_v<std::variant_alternative_t<leader_role, raft::Role>, raft::Leader>);

}  // namespace

World::World(uint64_t seed, const Plan& the_plan, Sink sink)
    : plan(the_plan),
      trace(schedule.now_source(), std::move(sink)),
      random(seed ^ 0x6a09e667f3bcc908ull),
      network(schedule, random, trace),
      monotone(report),
      one_leader(report),
      votes(report, monotone),
      log_matching(report),
      replies(report),
      committed(
          report, &VoterHistory::voters_at, [this](const raft::Voter& voter, const LogEntry& entry) { return has_durably(voter, entry); },
          [this](const image::MetadataRecord& record, int64_t offset) { replies.committed(record, offset); }),
      voter_history(report, committed),
      snapshots(report, committed),
      check_quorum(report, network) {
  Prng clocks(seed ^ 0xbb67ae8584caa73bull);
  Node::Setup setup{.static_voters = plan.static_voters, .properties = plan.properties};
  for (int id = 1; id <= plan.voters; ++id) setup.voters.push_back(id);
  for (int id = 1; id <= plan.voters + plan.spares; ++id) setup.controllers.push_back(id);
  for (int id = 1; id <= plan.voters + plan.spares + plan.observers; ++id) {
    setup.id = id;
    setup.controller = id <= plan.voters + plan.spares;
    const int64_t ppm = clocks.between(-50'000, 50'000);
    setup.clock_ppm = plan.has(Trouble::clock_rate) ? ppm : 0;
    Node::Setup own = setup;
    // A broker cannot join the voters.
    if (!own.controller) {
      if (const size_t at = own.properties.find("controller.quorum.auto.join"); at != std::string::npos) own.properties.erase(at);
    }
    nodes.push_back(std::make_unique<Node>(schedule, network, random, trace, own));
    nodes.back()->on_snapshot([this](Node& node, const std::string& path) { snapshots.appeared(node.id(), node.disk().memory(), path); });
  }
  states_.resize(nodes.size());
  network.set_witness([this](const Network::Passing& message) { votes.passes(message, node(message.response ? message.to : message.from).key()); });
}

World::~World() = default;

void World::start() {
  for (auto& node : nodes) {
    node->format();
    start_node(*node);
  }
}

void World::start_node(Node& node) {
  if (node.running()) return;
  const auto started = node.start();
  // A full disk keeps it down until somebody makes room.
  if (!started && !failure_expected_[node.id()]) report.violate("start", "node {} does not start: {}", node.id(), started.error().message);
}

bool World::run_until(const std::function<bool()>& done, Duration patience) {
  const MonotonicTime until = schedule.now() + patience;
  while (!done()) {
    if (!schedule.run_one(until)) return false;
    look();
    if (schedule.at_this_moment() > still_max) report.violate("busy loop", "time stands still");
    if (schedule.events() > events_max) report.violate("busy loop", "{} events", schedule.events());
    if (!report.clean()) return false;
  }
  return report.clean();
}

void World::look() {
  const Schedule::Lane* lane = schedule.last_lane();
  if (!lane) return;
  for (auto& node : nodes) {
    if (node->owns(lane)) return look_at(*node);
  }
}

void World::look_at(Node& node) {
  if (!node.fatal().empty()) {
    if (!failure_expected_[node.id()]) report.violate("start", "node {} stopped by itself: {}", node.id(), node.fatal());
    node.kill();
    return;
  }
  if (!node.core()) return;
  Seen seen = node.seen();
  State& state = states_[static_cast<size_t>(node.id() - 1)];
  if (model_trace) model_trace->look(NodeId{node.id()}, seen.life, seen.core);
  if (state.life != seen.life) {
    state.life = seen.life;
    state.epoch = state.led = Epoch{-1};
    state.high_watermark = Offset{-1};
    state.role = no_role;
    state.invariants = {};
  }
  seen.was_leader = state.role == leader_role && state.epoch == seen.core.epoch();
  if (schedule.last_lane() == node.metadata_lane()) {
    const int64_t applied = node.metadata().view().applied.value;
    if (applied >= committed.end()) report.violate(Committed::name, "node {} shows the metadata at {}, and {} is the end of what is committed", node.id(), applied, committed.end());
    return;
  }
  state.invariants.check(seen.core);
  LogMirror& log = node.disk().log();
  // The log knows the end of what the core has cut.
  const int64_t end_before = log.end();
  const raft::LogSummary& summary = seen.core.log();
  if (summary.start == summary.end && log.end() != log.start()) log.restart_at(summary.start.value);  // a snapshot stands for all of it
  else if (log.end() > summary.end.value) log.truncate_to(summary.end.value);
  else if (log.end() < summary.start.value) log.restart_at(summary.start.value);
  bool moment = false;
  if (const auto written = log.take_written(); !written.empty()) {
    voter_history.wrote(seen, written);
    if (std::ranges::any_of(written, &LogEntry::control)) voter_history.look(seen);
    moment = true;
  }
  if (log.end() < end_before) voter_history.look(seen);
  if (const auto durable = log.take_durable(); !durable.empty()) log_matching.durable(node.id(), log, durable);

  const Epoch epoch = seen.core.epoch();
  const size_t role = seen.core.role().index();
  if (epoch != state.epoch || role != state.role) {
    one_leader.look(seen);
    monotone.look(seen);
    if (trace) trace("node {}: {} in epoch {}", node.id(), raft::name_of(seen.core.role()), epoch);
    state.epoch = epoch;
    state.role = role;
    moment = true;
  }
  if (const auto* leads = seen.leads(); leads && state.led != epoch) {
    state.led = epoch;
    check_quorum.elected(node.id(), schedule.now());
    state.leads_from = leads->epoch_start.value;
    votes.elected(seen);
    committed.elected(seen);
  }
  if (seen.committed != state.high_watermark) {
    state.high_watermark = seen.committed;
    monotone.look(seen);
    committed.look(seen);
  }
  if (seen.leads()) check_quorum.look(seen, schedule.now(), node.paused_until(), std::chrono::milliseconds(plan.fetch_timeout_ms));
  if (moment && moment_) moment_(node);
}

bool World::has_durably(const raft::Voter& voter, const LogEntry& entry) {
  if (voter.key.id.value < 1 || static_cast<size_t>(voter.key.id.value) > nodes.size()) return false;
  const Node& node = *nodes[static_cast<size_t>(voter.key.id.value - 1)];
  if (forgiven_.contains(node.id())) return true;
  const LogMirror& log = node.disk().log();
  if (log.start() >= entry.end) return true;
  if (log.durable_end() < entry.end) return false;
  const LogEntry* has = log.at(entry.base);
  return has && has->epoch == entry.epoch && has->crc == entry.crc;
}

Node* World::leader() {
  Node* best = nullptr;
  for (auto& node : nodes) {
    const raft::Core* core = node->core();
    if (core && core->is_leader() && (!best || core->epoch() > best->core()->epoch())) best = node.get();
  }
  return best;
}

Node* World::active() {
  Node* node = leader();
  return node && node->metadata().view().active ? node : nullptr;
}

void World::forget(raft::ReplicaKey replica) {
  votes.forget(replica);
  forgiven_.insert(replica.id.value);
}

}  // namespace castellan::sim

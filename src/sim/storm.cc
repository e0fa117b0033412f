// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/storm.h"

#include <algorithm>
#include <cerrno>

#include "quorum/acknowledged.h"
#include "wire/codec.h"
#include "wire/messages/add_raft_voter_request.h"
#include "wire/messages/remove_raft_voter_request.h"
#include "wire/messages/update_features_request.h"

namespace castellan::sim {
namespace {

using std::chrono::milliseconds;

}  // namespace

Storm::Storm(World& world, uint64_t seed) : world_(world), seed_(seed), random_(seed ^ 0xa54ff53a5f1d36f1ull) {}

void Storm::begin() {
  steps_left_ = world_.plan.steps;
  world_.on_moment([this](Node& node) { spring(node); });
  world_.schedule.after(milliseconds(random_.between(0, 2 * world_.plan.step_ms)), [this] { step(); });
}

void Storm::step() {
  if (healed_) return;
  if (--steps_left_ < 0) return;
  // What a kind does is drawn from a generator of its own, so that taking away another kind changes nothing here.
  const double choice = static_cast<double>(random_.below(1'000'000)) / 1e6;
  const auto gap = milliseconds(random_.chance(0.3) ? random_.between(0, 30) : random_.between(0, 2 * world_.plan.step_ms));
  Prng own(seed_ * 1000 + static_cast<uint64_t>(++steps_done_));
  double sum = 0;
  for (const double weight : world_.plan.weight) sum += weight;
  double at = choice * sum;
  for (size_t i = 0; i < trouble_count; ++i) {
    const double weight = world_.plan.weight[i];
    if (weight <= 0) continue;
    if (at < weight) {
      perform(static_cast<Trouble>(i), own);
      break;
    }
    at -= weight;
  }
  world_.schedule.after(gap, [this] { step(); });
}

// The leader half of the time: that is where it hurts.
Node& Storm::victim(Prng& random) {
  const bool the_leader = random.chance(0.5);
  const auto any = random.below(world_.nodes.size());
  Node* leader = world_.leader();
  return the_leader && leader ? *leader : *world_.nodes[any];
}

void Storm::perform(Trouble trouble, Prng& random) {
  ++counts_[static_cast<size_t>(trouble)];
  const int64_t step_ms = world_.plan.step_ms;
  // Weather lasts for a while.
  const auto for_a_while = [&](double Weather::*what, double value) {
    world_.network.weather.*what = value;
    world_.schedule.after(milliseconds(random.between(0, 5 * step_ms)), [this, what] {
      if (!healed_) world_.network.weather.*what = 0;
    });
  };
  const double strength = static_cast<double>(random.between(2, 40)) / 100;
  switch (trouble) {
    case Trouble::loss: return for_a_while(&Weather::loss, strength);
    case Trouble::doubling: return for_a_while(&Weather::doubled, strength);
    case Trouble::reset: return for_a_while(&Weather::reset, strength / 2);
    case Trouble::slowness:
      world_.network.weather.slowest = milliseconds(random.between(2, random.chance(0.3) ? 2000 : 100));
      return for_a_while(&Weather::slow, strength);
    case Trouble::partition: return partition(random, false);
    case Trouble::one_way: return partition(random, true);
    case Trouble::kill:
    case Trouble::power:
    case Trouble::stop:
    case Trouble::pause: return end_process(victim(random), trouble, random);
    case Trouble::ambush: return set_ambush(random);
    case Trouble::clock_rate:
    case Trouble::snapshots: return;  // from the beginning
    case Trouble::clock_jump: {
      Node& node = victim(random);
      const int64_t hours = random.between(-2, 2);
      if (world_.trace) world_.trace("node {}: the wall clock is {} hours off", node.id(), hours);
      return node.clock().set_wall_offset(hours * 3'600'000);
    }
    case Trouble::slow_disk: {
      Node& node = victim(random);
      node.set_sync_time(milliseconds(random.between(10, random.chance(0.3) ? 4000 : 200)));
      world_.schedule.after(milliseconds(random.between(0, 4 * step_ms)), [&node] { node.set_sync_time(std::chrono::microseconds(3000)); });
      return;
    }
    case Trouble::disk_error: return fail_disk(victim(random), false, random);
    case Trouble::full_disk: return fail_disk(victim(random), true, random);
    case Trouble::upgrade: return upgrade();
    case Trouble::voters: return change_voters(random);
    case Trouble::replace: return replace(victim(random), random);
    case Trouble::wipe: return wipe(victim(random), random);
  }
}

void Storm::end_process(Node& node, Trouble how, Prng& random) {
  if (!node.running()) return world_.start_node(node);
  switch (how) {
    case Trouble::pause: {
      const auto until = milliseconds(random.between(1, random.chance(0.5) ? 3 * world_.plan.fetch_timeout_ms : 100));
      return node.pause_until(world_.schedule.now() + until);
    }
    case Trouble::stop: {
      const uint64_t own = random.next();
      return node.stop([this, &node, own] {
        Prng later(own);
        start_later(node, later);
      });
    }
    case Trouble::power: {
      // Sometimes the whole room.
      if (random.chance(0.15)) {
        for (auto& other : world_.nodes) {
          if (!other->running()) continue;
          other->crash(&random);
          start_later(*other, random);
        }
        return;
      }
      node.crash(random.chance(0.6) ? &random : nullptr);
      break;
    }
    default: node.kill(); break;
  }
  start_later(node, random);
}

void Storm::start_later(Node& node, Prng& random) {
  const auto down = milliseconds(random.chance(0.3) ? random.between(0, 20) : random.between(0, 3 * world_.plan.step_ms));
  world_.schedule.after(down, [this, &node] { world_.start_node(node); });
}

void Storm::partition(Prng& random, bool one_way) {
  world_.network.heal();
  const int generation = ++cut_;
  std::vector<int> hosts;
  for (const auto& node : world_.nodes) hosts.push_back(node->id());
  for (int i = 1; i <= world_.plan.clients; ++i) hosts.push_back(-i);
  if (random.chance(0.4)) {
    // One node alone; its clients may be with it.
    const int alone = victim(random).id();
    for (const int other : hosts) {
      if (other == alone || (other < 0 && random.chance(0.5))) continue;
      world_.network.cut(alone, other);
      if (!one_way) world_.network.cut(other, alone);
    }
  } else if (random.chance(0.3)) {
    // Single links.
    for (const int a : hosts) {
      for (const int b : hosts) {
        if (a == b || !random.chance(0.25)) continue;
        world_.network.cut(a, b);
        if (!one_way) world_.network.cut(b, a);
      }
    }
  } else {
    std::map<int, bool> side;
    for (const int host : hosts) side[host] = random.chance(0.5);
    for (const int a : hosts) {
      for (const int b : hosts) {
        if (side[a] != side[b] && (!one_way || side[a])) world_.network.cut(a, b);
      }
    }
  }
  if (world_.trace) world_.trace("the network is cut{}", one_way ? " in one direction" : "");
  world_.schedule.after(milliseconds(random.between(0, random.chance(0.5) ? 3 * world_.plan.fetch_timeout_ms : 3 * world_.plan.step_ms)), [this, generation] {
    if (generation != cut_) return;
    if (world_.trace) world_.trace("the network is whole");
    world_.network.heal();
  });
}

// The next few times that something happens to a node, it is struck in that very moment.
void Storm::set_ambush(Prng& random) {
  constexpr std::array<Trouble, 5> ways = {Trouble::kill, Trouble::power, Trouble::power, Trouble::pause, Trouble::partition};
  ambush_ = Ambush{static_cast<int>(random.between(1, 12)), ways[random.below(ways.size())], Prng(random.next())};
}

void Storm::spring(Node& node) {
  if (!ambush_ || healed_ || --ambush_->countdown > 0) return;
  Ambush ambush = *std::exchange(ambush_, std::nullopt);
  // A few pieces of work later, so that some of it has got out.
  const auto delay = std::chrono::microseconds(ambush.random.chance(0.5) ? ambush.random.between(0, 60) : ambush.random.between(0, 4000));
  world_.schedule.after(delay, [this, &node, ambush]() mutable {
    if (healed_ || !node.running()) return;
    if (ambush.how == Trouble::partition) {
      for (const auto& other : world_.nodes) {
        if (other.get() == &node) continue;
        world_.network.cut(node.id(), other->id());
        world_.network.cut(other->id(), node.id());
      }
      const int generation = ++cut_;
      world_.schedule.after(milliseconds(ambush.random.between(0, 2 * world_.plan.fetch_timeout_ms)), [this, generation] {
        if (generation == cut_) world_.network.heal();
      });
      return;
    }
    end_process(node, ambush.how, ambush.random);
  });
}

void Storm::fail_disk(Node& node, bool full, Prng& random) {
  world_.expect_failure(node.id(), true);
  if (world_.trace) world_.trace("node {}: the disk {}", node.id(), full ? "is full" : "fails");
  using Operation = io::MemoryFileSystem::Operation;
  node.disk().memory().fail_when([left = random.between(0, 12), full](Operation operation, const std::string&) mutable -> std::optional<int> {
    if (operation == Operation::read || operation == Operation::open || operation == Operation::list || operation == Operation::lock) return std::nullopt;
    if (full) return operation == Operation::write || operation == Operation::make_directory ? std::optional(ENOSPC) : std::nullopt;
    return --left < 0 ? std::optional(EIO) : std::nullopt;
  });
  // Somebody comes and mends it: after an error the machine is started anew, and what was not synced may be gone.
  const uint64_t own = random.next();
  world_.schedule.after(milliseconds(random.between(0, 4 * world_.plan.step_ms)), [this, &node, full, own] {
    if (healed_) return;
    Prng later(own);
    node.disk().memory().fail_when(nullptr);
    if (!full || node.running()) node.crash(&later);
    world_.expect_failure(node.id(), false);
    world_.start_node(node);
  });
}

void Storm::ask_leader(int16_t key, int16_t version, Bytes body) {
  Node* leader = world_.leader();
  if (!leader) return;
  world_.network.request(-100, leader->id(), {.api_key = key, .api_version = version, .body = std::move(body), .listener = "CONTROLLER"},
                         milliseconds(world_.plan.fetch_timeout_ms), nullptr, [](const Result<Bytes>&) {});
}

void Storm::change_voters(Prng& random) {
  Node* leader = world_.leader();
  if (!leader) return;
  const raft::VoterSet& voters = leader->core()->voters();
  const bool add = random.chance(0.55);
  const uint64_t which = random.next();
  std::vector<Node*> others;
  for (auto& node : world_.nodes) {
    if (node->setup().controller && !voters.contains(node->key())) others.push_back(node.get());
  }
  if (add && !others.empty()) {
    Node& joins = *others[which % others.size()];
    wire::AddRaftVoterRequest request;
    request.cluster_id = Node::cluster_id;
    request.timeout_ms = static_cast<int32_t>(world_.plan.fetch_timeout_ms);
    request.voter_id = joins.id();
    request.voter_directory_id = joins.key().directory.value;
    // Now and then an address where nobody is.
    request.listeners.push_back({.name = "CONTROLLER", .host = random.chance(0.15) ? "nowhere" : Network::name_of(joins.id()), .port = 9093});
    request.ack_when_committed = random.chance(0.5);
    if (world_.trace) world_.trace("the operator adds voter {}", joins.key());
    return ask_leader(80, 1, *wire::encode_to_bytes(request, 1));
  }
  // A dead voter and one less would leave no majority.
  if (voters.size() < 2 || !dead_.empty()) return;
  removal_asked_ = world_.schedule.now();
  auto voter = voters.begin();
  std::advance(voter, static_cast<ptrdiff_t>(which % voters.size()));
  // Half of the removals take the leader out.
  if (random.chance(0.4) && voters.find(NodeId{leader->id()})) voter = std::ranges::find_if(voters, [&](const auto& entry) { return entry.first.value == leader->id(); });
  wire::RemoveRaftVoterRequest request;
  request.cluster_id = Node::cluster_id;
  request.voter_id = voter->second.key.id.value;
  request.voter_directory_id = voter->second.key.directory.value;
  if (world_.trace) world_.trace("the operator removes voter {}", voter->second.key);
  ask_leader(81, 0, *wire::encode_to_bytes(request, 0));
}

void Storm::upgrade() {
  wire::UpdateFeaturesRequest request;
  request.timeout_ms = static_cast<int32_t>(world_.plan.fetch_timeout_ms);
  auto& update = request.feature_updates.emplace_back();
  update.feature = "kraft.version";
  update.max_version_level = 1;
  if (world_.trace) world_.trace("the operator asks for kraft.version 1");
  ask_leader(57, 1, *wire::encode_to_bytes(request, 1));
}

// Whether everything that is committed is on the disks of a majority of the voters even without this node.
bool Storm::majority_has_everything_without(const Node& node) {
  Node* leader = world_.leader();
  const LogEntry* last = world_.committed.last();
  if (!leader || !last) return false;
  const raft::VoterSet& voters = leader->core()->voters();
  size_t have = 0;
  for (const auto& [id, voter] : voters) {
    if (id.value == node.id() || dead_.contains(voter.key)) continue;
    const Node& other = world_.node(id.value);
    const LogEntry* has = other.disk().log().at(last->base);
    if (other.disk().log().durable_end() >= last->end && has && has->crc == last->crc) ++have;
  }
  return have >= voters.majority();
}

void Storm::replace(Node& node, Prng& random) {
  if (!node.setup().controller || !dead_.empty() || !majority_has_everything_without(node)) return;
  // A removal may still be on its way.
  if (removal_asked_.nanoseconds > 0 && world_.schedule.now() - removal_asked_ < milliseconds(5 * world_.plan.fetch_timeout_ms)) return;
  if (node.running()) node.kill();
  dead_.insert(node.key());
  node.replace_disk();
  start_later(node, random);
}

void Storm::wipe(Node& node, Prng& random) {
  if (!node.setup().controller || !dead_.empty() || node.disk().log().end() == 0 || !majority_has_everything_without(node)) return;
  // The record of what was acknowledged lags; a disk that is wiped before it was written is another replica's (design).
  quorum::AcknowledgedFile file(node.disk().memory(), Node::directory);
  const auto acknowledged = file.read();
  if (!acknowledged || !*acknowledged || (*acknowledged)->position.offset.value < node.disk().log().durable_end()) return;
  if (node.running()) node.kill();
  world_.forget(node.key());
  node.wipe_log();
  start_later(node, random);
}

void Storm::heal() {
  healed_ = true;
  ambush_.reset();
  ++cut_;
  world_.network.heal();
  world_.network.weather = {};
  if (world_.trace) world_.trace("the storm is over");
  for (auto& node : world_.nodes) {
    node->disk().memory().fail_when(nullptr);
    world_.expect_failure(node->id(), false);
    node->set_sync_time(std::chrono::microseconds(3000));
    node->resume();
    // What its disk refused it has not noticed yet, perhaps: it is started anew.
    if (node->running() && !node->fatal().empty()) node->kill();
    world_.start_node(*node);
  }
}

bool Storm::replacing_done() {
  Node* leader = world_.leader();
  if (!leader) return false;
  for (const raft::ReplicaKey key : dead_) {
    if (!leader->core()->voters().contains(key)) continue;
    wire::RemoveRaftVoterRequest request;
    request.cluster_id = Node::cluster_id;
    request.voter_id = key.id.value;
    request.voter_directory_id = key.directory.value;
    ask_leader(81, 0, *wire::encode_to_bytes(request, 0));
    return false;
  }
  return true;
}

}  // namespace castellan::sim

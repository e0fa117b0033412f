// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/three_voters.h"

#include <algorithm>

#include "image/image.h"
#include "sim/log_checker.h"
#include "sim/network.h"
#include "wire/api_key.h"
#include "wire/codec.h"
#include "wire/messages/alter_client_quotas_request.h"
#include "wire/messages/alter_client_quotas_response.h"

namespace castellan::sim {
namespace {

using quorum::TestNode;
using quorum::World;
using std::chrono::milliseconds;

class Cluster {
 public:
  explicit Cluster(uint64_t seed) : world(seed), network(world) {
    const bool static_voters = world.random().chance(0.3);
    for (const int id : {1, 2, 3}) {
      files.push_back(std::make_unique<io::MemoryFileSystem>());
      TestNode::Setup setup{.static_voters = static_voters, .id = id, .voters = {1, 2, 3}, .channel = &network.channel(id)};
      if (world.random().chance(0.4)) setup.extra_properties = "metadata.log.max.record.bytes.between.snapshots=4000\nmetadata.max.retention.bytes=10000\n";
      nodes.push_back(std::make_unique<TestNode>(world, *files.back(), setup));
      network.add(nodes.back().get());
      nodes.back()->format();
    }
  }

  std::string start(TestNode& node) {
    node.fatal.clear();
    const auto started = node.start();
    return started ? "" : fmt::format("node {} does not start: {}", node.id(), started.error().message);
  }
  TestNode* active() {
    TestNode* best = nullptr;
    for (const auto& node : nodes) {
      if (!node->running() || !node->node().view().active) continue;
      if (!best || node->node().view().epoch > best->node().view().epoch) best = node.get();
    }
    return best;
  }

  World world;
  Network network;
  std::vector<std::unique_ptr<io::MemoryFileSystem>> files;
  std::vector<std::unique_ptr<TestNode>> nodes;
};

class ThreeVoters {
 public:
  explicit ThreeVoters(uint64_t seed) : cluster_(seed), world_(cluster_.world) {}

  ThreeVotersRun run() {
    for (auto& node : cluster_.nodes) start(*node);
    const auto rounds = world_.random().between(4, 10);
    for (int64_t round = 0; round < rounds && result_.violation.empty(); ++round) storm();
    calm();
    result_.epochs = static_cast<int>(leaders_.size());
    result_.acknowledged = acknowledged_.size();
    return result_;
  }

 private:
  void violate(std::string what) {
    if (result_.violation.empty()) result_.violation = std::move(what);
  }
  void start(TestNode& node) {
    if (auto wrong = cluster_.start(node); !wrong.empty()) violate(wrong);
  }

  void write() {
    const int number = ++written_;
    wire::AlterClientQuotasRequest request;
    auto& entry = request.entries.emplace_back();
    auto& entity = entry.entity.emplace_back();
    entity.entity_type = "user";
    entity.entity_name = "user-" + std::to_string(number);
    auto& operation = entry.ops.emplace_back();
    operation.key = "consumer_byte_rate";
    operation.value = number;
    // Clients may ask a leader that has lost its leadership without knowing.
    TestNode* node = world_.random().chance(0.8) ? cluster_.active() : cluster_.nodes[world_.random().below(3)].get();
    if (!node || !node->running()) return;
    node->node().handle({.api_key = wire::AlterClientQuotasRequest::info().key, .api_version = 1, .body = *wire::encode_to_bytes(request, 1), .listener = "CONTROLLER"},
                        [this, number](const Result<Bytes>& answer) {
                          if (!answer) return;
                          const auto response = wire::decode_exactly<wire::AlterClientQuotasResponse>(1, *answer);
                          if (response && response->entries.size() == 1 && response->entries[0].error_code == 0) acknowledged_.insert(number);
                        });
  }

  void observe() {
    for (const auto& node : cluster_.nodes) {
      if (!node->running()) continue;
      if (!node->fatal.empty()) return violate(fmt::format("node {} stopped: {}", node->id(), node->fatal.front()));
      const auto view = node->node().view();
      auto& last = epochs_[node->id()];
      if (view.epoch < last) violate(fmt::format("node {}: epoch {} after {}", node->id(), view.epoch, last));
      last = view.epoch;
      if (!view.leader) continue;
      const auto [known, is_new] = leaders_.emplace(view.epoch, *view.leader);
      if (known->second != *view.leader) violate(fmt::format("epoch {} has leaders {} and {}", view.epoch, known->second, *view.leader));
    }
  }

  void run_for(int64_t ms) {
    for (int64_t i = 0; i < ms && result_.violation.empty(); i += 2) {
      if (world_.random().chance(0.3)) write();
      world_.run_for(milliseconds(2));
      observe();
    }
  }

  void storm() {
    run_for(world_.random().between(0, 400));
    TestNode& node = *cluster_.nodes[world_.random().below(3)];
    switch (world_.random().below(4)) {
      case 0:
      case 1:
        ++result_.crashes;
        if (node.running()) node.kill(world_.random().chance(0.7) ? &world_.random() : nullptr);
        check_log(node);
        run_for(world_.random().between(0, 3000));
        if (result_.violation.empty()) start(node);
        break;
      case 2:
        ++result_.partitions;
        cluster_.network.isolate(node.id());
        run_for(world_.random().between(0, 6000));
        cluster_.network.heal();
        break;
      default:
        cluster_.network.set_loss(0.2);
        run_for(world_.random().between(0, 2000));
        cluster_.network.set_loss(0);
        break;
    }
  }

  void check_log(TestNode& node) {
    auto& files = *cluster_.files[static_cast<size_t>(node.id() - 1)];
    if (auto wrong = check_metadata_log(files, node.folder, true)) violate(fmt::format("node {}: {}", node.id(), *wrong));
  }

  void calm() {
    if (!result_.violation.empty()) return;
    cluster_.network.heal();
    cluster_.network.set_loss(0);
    const auto before = acknowledged_.size();
    const bool progress = [&] {
      for (int i = 0; i < 100; ++i) {
        run_for(200);
        if (!result_.violation.empty() || acknowledged_.size() > before + 3) return true;
      }
      return false;
    }();
    if (!progress) return violate("no progress within 20 s after the storm");
    if (!result_.violation.empty()) return;
    // Everybody catches up, and has what was acknowledged.
    for (const auto& node : cluster_.nodes) {
      std::string missing;
      const bool complete = world_.run_until([&] { return (missing = first_missing(*node)).empty(); }, std::chrono::seconds(20));
      if (!complete) return violate(fmt::format("node {} lacks {}", node->id(), missing));
    }
  }

  std::string first_missing(TestNode& node) {
    const auto image = node.node().image();
    for (const int number : acknowledged_) {
      const auto* quotas = image->client_quotas.find(image::QuotaEntity{{"user", "user-" + std::to_string(number)}});
      if (!quotas || quotas->begin()->second != number) return fmt::format("acknowledged write {}", number);
    }
    return "";
  }

  Cluster cluster_;
  World& world_;
  ThreeVotersRun result_;
  int written_ = 0;
  std::set<int> acknowledged_;
  std::map<Epoch, NodeId> leaders_;
  std::map<int, Epoch> epochs_;
};

}  // namespace

ThreeVotersRun run_three_voters(uint64_t seed) { return ThreeVoters(seed).run(); }

std::vector<double> failover_times_ms(uint64_t seed, int crashes) {
  Cluster cluster(seed);
  std::vector<double> times;
  for (auto& node : cluster.nodes) {
    if (!cluster.start(*node).empty()) return times;
  }
  for (int i = 0; i < crashes; ++i) {
    if (!cluster.world.run_until([&] { return cluster.active() != nullptr; })) return times;
    cluster.world.run_for(std::chrono::seconds(2));  // everybody has caught up
    TestNode* leader = cluster.active();
    if (!leader) return times;
    leader->kill();
    const MonotonicTime begun = cluster.world.monotonic();
    if (!cluster.world.run_until([&] { return cluster.active() != nullptr; })) return times;
    times.push_back(static_cast<double>((cluster.world.monotonic() - begun).count()) / 1e6);
    if (!cluster.start(*leader).empty()) return times;
  }
  return times;
}

}  // namespace castellan::sim

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/placement.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace castellan::controller {

namespace {

template <class T>
void shuffle(std::vector<T>& items, Prng& random) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

// Brokers that are dealt one after another, each once in a round. A new round begins one broker further.
class Dealer {
 public:
  void add(NodeId broker) { brokers_.push_back(broker); }
  void start(Prng& random) {
    std::ranges::sort(brokers_);
    if (!brokers_.empty()) start_ = random.below(brokers_.size());
  }
  void shuffle_order(Prng& random) { shuffle(brokers_, random); }

  std::optional<NodeId> next(size_t round) {
    if (brokers_.empty()) return std::nullopt;
    if (round != round_) {
      round_ = round;
      dealt_ = 0;
      start_ = (start_ + 1) % brokers_.size();
    }
    if (dealt_ == brokers_.size()) return std::nullopt;
    return brokers_[(start_ + dealt_++) % brokers_.size()];
  }

 private:
  std::vector<NodeId> brokers_;
  size_t start_ = 0;
  size_t dealt_ = 0;
  size_t round_ = 0;
};

struct Rack {
  Dealer unfenced;
  Dealer fenced;

  std::optional<NodeId> next(size_t round) {
    if (const auto broker = unfenced.next(round)) return broker;
    return fenced.next(round);
  }
};

class Striper {
 public:
  Striper(const std::vector<UsableBroker>& brokers, Prng& random) : random_(random) {
    std::map<std::optional<std::string>, Rack> racks;  // no rack sorts first
    for (const UsableBroker& broker : brokers) {
      Rack& rack = racks[broker.rack];
      (broker.fenced ? rack.fenced : rack.unfenced).add(broker.id);
      if (!broker.fenced) ++unfenced_count_;
    }
    for (auto& [name, rack] : racks) {
      rack.unfenced.start(random);
      rack.fenced.start(random);
      racks_.push_back(std::move(rack));
    }
    if (!racks_.empty()) first_rack_ = random.below(racks_.size());
  }

  size_t unfenced_count() const { return unfenced_count_; }

  // Good until the next call.
  std::span<const NodeId> next(size_t replication_factor) {
    if (round_ == unfenced_count_ && unfenced_count_ > 1) {
      shuffle(racks_, random_);
      for (Rack& rack : racks_) {
        rack.unfenced.shuffle_order(random_);
        rack.fenced.shuffle_order(random_);
      }
      round_ = 0;
    }
    first_rack_ %= racks_.size();
    std::vector<NodeId>& replicas = replicas_;
    replicas.clear();
    size_t leader_rack = first_rack_;
    while (replicas.empty()) {
      if (const auto leader = racks_[leader_rack].unfenced.next(round_)) replicas.push_back(*leader);
      else leader_rack = (leader_rack + 1) % racks_.size();
    }
    bool leader_rack_passed = false;  // the rack that gave the leader waits one turn
    for (size_t rack = first_rack_; replicas.size() < replication_factor; rack = (rack + 1) % racks_.size()) {
      if (rack == leader_rack && !leader_rack_passed) leader_rack_passed = true;
      else if (const auto replica = racks_[rack].next(round_)) replicas.push_back(*replica);
    }
    ++round_;
    ++first_rack_;
    return replicas;
  }

 private:
  Prng& random_;
  std::vector<Rack> racks_;
  std::vector<NodeId> replicas_;
  size_t unfenced_count_ = 0;
  size_t round_ = 0;
  size_t first_rack_ = 0;
};

}  // namespace

Result<void> place_each(const std::vector<UsableBroker>& brokers, int32_t partitions, int16_t replication_factor, Prng& random,
                        const std::function<void(std::span<const NodeId>)>& sink) {
  if (replication_factor <= 0) {
    return fail(ErrorCode::INVALID_REPLICATION_FACTOR, "Invalid replication factor {}: the replication factor must be positive.", replication_factor);
  }
  Striper striper(brokers, random);
  if (striper.unfenced_count() == 0) {
    return fail(ErrorCode::INVALID_REPLICATION_FACTOR, "All brokers are currently fenced, or have all their log directories cordoned.");
  }
  if (static_cast<size_t>(replication_factor) > brokers.size()) {
    return fail(ErrorCode::INVALID_REPLICATION_FACTOR,
                "The target replication factor of {} cannot be reached because only {} broker(s) are registered or some brokers have all their log "
                "directories cordoned.",
                replication_factor, brokers.size());
  }
  for (int32_t i = 0; i < partitions; ++i) sink(striper.next(static_cast<size_t>(replication_factor)));
  return {};
}

Result<std::vector<std::vector<NodeId>>> place_replicas(const std::vector<UsableBroker>& brokers, int32_t partitions, int16_t replication_factor,
                                                        Prng& random) {
  std::vector<std::vector<NodeId>> placed;
  TRY_VOID(place_each(brokers, partitions, replication_factor, random,
                      [&](std::span<const NodeId> replicas) { placed.emplace_back(replicas.begin(), replicas.end()); }));
  return placed;
}

}  // namespace castellan::controller

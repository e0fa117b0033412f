// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/partition_change.h"

#include <algorithm>

namespace castellan::controller {

namespace {

constexpr int32_t no_leader_change = -2;

bool has(const NodeIds& nodes, NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); }

NodeIds without(const NodeIds& nodes, const NodeIds& taken) {
  NodeIds rest;
  std::ranges::copy_if(nodes, std::back_inserter(rest), [&](NodeId node) { return !has(taken, node); });
  return rest;
}

bool has_all(const NodeIds& nodes, const NodeIds& wanted) {
  return std::ranges::all_of(wanted, [&](NodeId node) { return has(nodes, node); });
}

std::vector<int32_t> plain(const NodeIds& nodes) {
  std::vector<int32_t> ids;
  for (NodeId node : nodes) ids.push_back(node.value);
  return ids;
}

class Change {
 public:
  Change(const PartitionKey& key, const PartitionState& now, PartitionTarget target, const PartitionRules& rules)
      : now_(now), target_(std::move(target)), rules_(rules), elr_(now.elr) {
    record_.topic_id = key.topic.value;
    record_.partition_id = key.partition;
  }

  std::optional<MetadataRecord> make() {
    complete_reassignment();
    if (rules_.elr_enabled) work_out_elr();
    elect();
    const bool lost_a_replica = !has_all(target_.replicas, now_.replicas);
    if (lost_a_replica) bump_leader_epoch();
    record_elr();
    if (!record_.isr && (!target_.isr.empty() || rules_.elr_enabled) && target_.isr != now_.isr) record_.isr = plain(target_.isr);
    const bool isr_shrank = record_.isr && std::ranges::any_of(now_.isr, [&](NodeId node) { return std::ranges::find(*record_.isr, node.value) == record_.isr->end(); });
    if (rules_.version.leader_epoch_bump_on_isr_shrink() && isr_shrank) bump_leader_epoch();
    record_last_known_leader();
    record_assignment();
    if (target_.recovery != now_.recovery) record_.leader_recovery_state = static_cast<int8_t>(target_.recovery);
    if (is_empty()) return std::nullopt;
    return MetadataRecord{.version = rules_.version.partition_change_record_version(), .message = std::move(record_)};
  }

 private:
  // C295: the added replicas are in sync, and the partition would not be left with fewer in-sync replicas than it had to
  // give away.
  void complete_reassignment() {
    if (target_.removing.empty() && target_.adding.empty()) return;
    const NodeIds isr = without(target_.isr, target_.removing);
    const NodeIds replicas = without(target_.replicas, target_.removing);
    if (isr.empty() || replicas.empty() || !has_all(isr, target_.adding)) return;
    if (target_.adding.size() < target_.removing.size() && !has_all(isr, replicas)) return;
    target_.isr = isr;
    target_.replicas = replicas;
    target_.removing.clear();
    target_.adding.clear();
  }

  void work_out_elr() {
    if (target_.isr.size() >= static_cast<size_t>(std::max(rules_.min_isr, 0))) {
      elr_.clear();
      return;
    }
    NodeIds candidates = elr_;
    candidates.insert(candidates.end(), now_.isr.begin(), now_.isr.end());
    std::ranges::sort(candidates);
    candidates.erase(std::ranges::unique(candidates).begin(), candidates.end());
    elr_ = without(without(candidates, target_.isr), target_.unclean_shutdown);
  }

  bool can_lead(NodeId node) const {
    return (has(target_.isr, node) || (target_.isr.empty() && has(elr_, node))) && rules_.acceptable_leader(node);
  }

  struct Elected {
    NodeId leader;
    bool unclean;
  };

  Elected choose() const {
    if (target_.election == Election::PREFERRED && !target_.replicas.empty() && can_lead(target_.replicas.front())) return {target_.replicas.front(), false};
    if (can_lead(now_.leader)) return {now_.leader, false};
    for (NodeId node : target_.replicas) {
      if (can_lead(node)) return {node, false};
    }
    if (rules_.elr_enabled && target_.isr.empty() && elr_.empty() && now_.last_known_elr.size() == 1 &&
        rules_.acceptable_leader(now_.last_known_elr.front())) {
      return {now_.last_known_elr.front(), true};
    }
    if (target_.election == Election::UNCLEAN) {
      for (NodeId node : target_.replicas) {
        if (rules_.acceptable_leader(node)) return {node, true};
      }
    }
    return {no_node, false};
  }

  void elect() {
    const Elected elected = choose();
    if (elected.leader == now_.leader) return;
    if (has(elr_, elected.leader)) {  // clean: it has everything that was acknowledged
      target_.isr = {elected.leader};
      std::erase(elr_, elected.leader);
    }
    record_.leader = elected.leader.value;
    if (elected.unclean) {
      record_.isr.emplace({elected.leader.value});
      if (now_.recovery != image::LeaderRecoveryState::RECOVERING) record_.leader_recovery_state = static_cast<int8_t>(image::LeaderRecoveryState::RECOVERING);
    }
  }

  // Naming the leader raises the leader epoch, even when it stays the same.
  void bump_leader_epoch() {
    if (record_.leader == no_leader_change) record_.leader = now_.leader.value;
  }

  void record_elr() {
    if (record_.isr || !rules_.elr_enabled) elr_.clear();  // after an unclean election nobody else is eligible
    if (elr_ != now_.elr) record_.eligible_leader_replicas = plain(elr_);
  }

  void record_last_known_leader() {
    if (!rules_.elr_enabled) return;
    if (record_.leader == no_node.value && now_.last_known_elr.empty()) record_.last_known_elr.emplace({now_.leader.value});
    else if (record_.leader >= 0 && !now_.last_known_elr.empty()) record_.last_known_elr.emplace();
  }

  void record_assignment() {
    if (!target_.replicas.empty()) {
      if (rules_.version.directory_assignment_supported()) {
        std::vector<Uuid> directories;
        bool changed = target_.replicas.size() != now_.replicas.size();
        for (size_t i = 0; i < target_.replicas.size(); ++i) {
          const auto found = target_.directories.find(target_.replicas[i]);
          const DirectoryId directory = found != target_.directories.end() ? found->second : rules_.default_directory(target_.replicas[i]);
          directories.push_back(directory.value);
          if (!changed) changed = directory != (now_.directories.empty() ? directory_migrating : now_.directories[i]);
        }
        if (changed) record_.directories = std::move(directories);
      }
      if (target_.replicas != now_.replicas) record_.replicas = plain(target_.replicas);
    }
    if (target_.removing != now_.removing) record_.removing_replicas = plain(target_.removing);
    if (target_.adding != now_.adding) record_.adding_replicas = plain(target_.adding);
  }

  bool is_empty() const {
    return !record_.isr && !record_.eligible_leader_replicas && !record_.last_known_elr && record_.leader == no_leader_change && !record_.replicas &&
           !record_.removing_replicas && !record_.adding_replicas && record_.leader_recovery_state == -1 && !record_.directories;
  }

  const PartitionState& now_;
  PartitionTarget target_;
  const PartitionRules& rules_;
  NodeIds elr_;
  wire::PartitionChangeRecord record_;
};

}  // namespace

std::optional<MetadataRecord> change_partition(const PartitionKey& key, const PartitionState& now, PartitionTarget target, const PartitionRules& rules) {
  return Change(key, now, std::move(target), rules).make();
}

Reassignment reassignment_to(const PartitionState& now, const NodeIds& target) {
  Reassignment plan{.replicas = target, .removing = without(now.replicas, target), .adding = without(target, now.replicas)};
  std::ranges::sort(plan.removing);
  std::ranges::sort(plan.adding);
  plan.replicas.insert(plan.replicas.end(), plan.removing.begin(), plan.removing.end());
  return plan;
}

}  // namespace castellan::controller

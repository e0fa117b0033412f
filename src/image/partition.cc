// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/partition.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "image/directory_numbers.h"

namespace castellan::image {

Partition::Partition(const PartitionState& state)
    : leader_(state.leader), leader_epoch_(state.leader_epoch), partition_epoch_(state.partition_epoch), recovery_(state.recovery) {
  std::vector<NodeId> directories;
  const bool all_migrating = std::ranges::all_of(state.directories, [](DirectoryId id) { return id == directory_migrating; });
  if (!all_migrating) {
    CHECK(state.directories.size() == state.replicas.size());
    for (DirectoryId id : state.directories) directories.push_back(NodeId(static_cast<int32_t>(directory_number(id))));
  }
  const std::vector<NodeId>* all[lists] = {&state.replicas, &state.isr, &directories, &state.removing, &state.adding, &state.elr, &state.last_known_elr};
  for (size_t i = 0; i < lists; ++i) {
    CHECK(all[i]->size() <= UINT16_MAX, "a partition with {} replicas", all[i]->size());
    counts_[i] = static_cast<uint16_t>(all[i]->size());
  }
  NodeId* to = make_room();
  for (const auto* each : all) to = std::copy(each->begin(), each->end(), to);
}

Partition::Partition(const PartitionLists& from)
    : leader_(from.leader), leader_epoch_(from.leader_epoch), partition_epoch_(from.partition_epoch), recovery_(from.recovery) {
  const bool all_migrating = std::ranges::all_of(from.directories, [](const Uuid& id) { return DirectoryId(id) == directory_migrating; });
  CHECK(all_migrating || from.directories.size() == from.replicas.size());
  const std::span<const int32_t> all[lists] = {from.replicas, from.isr, {}, from.removing, from.adding, from.elr, from.last_known_elr};
  for (size_t i = 0; i < lists; ++i) {
    CHECK(all[i].size() <= UINT16_MAX, "a partition with {} replicas", all[i].size());
    counts_[i] = static_cast<uint16_t>(all[i].size());
  }
  if (!all_migrating) counts_[directories_list] = counts_[0];
  NodeId* to = make_room();
  for (size_t i = 0; i < lists; ++i) {
    for (const int32_t id : all[i]) *to++ = NodeId(id);
    if (i != directories_list || all_migrating) continue;
    for (const Uuid& id : from.directories) *to++ = NodeId(static_cast<int32_t>(directory_number(DirectoryId(id))));
  }
}

NodeId* Partition::make_room() {
  if (is_inline()) return values_;
  auto* room = new NodeId[total()];
  std::memcpy(static_cast<void*>(values_), &room, sizeof(room));
  return room;
}

Partition::Partition(const Partition& other)
    : leader_(other.leader_), leader_epoch_(other.leader_epoch_), partition_epoch_(other.partition_epoch_), recovery_(other.recovery_) {
  std::copy(std::begin(other.counts_), std::end(other.counts_), counts_);
  if (is_inline()) {
    std::copy(std::begin(other.values_), std::end(other.values_), values_);
  } else {
    auto* own = new NodeId[total()];
    std::copy_n(other.data(), total(), own);
    std::memcpy(static_cast<void*>(values_), &own, sizeof(own));
  }
}

Partition::Partition(Partition&& other) noexcept
    : leader_(other.leader_), leader_epoch_(other.leader_epoch_), partition_epoch_(other.partition_epoch_), recovery_(other.recovery_) {
  std::copy(std::begin(other.counts_), std::end(other.counts_), counts_);
  std::copy(std::begin(other.values_), std::end(other.values_), values_);
  std::fill(std::begin(other.counts_), std::end(other.counts_), uint16_t{0});
}

Partition& Partition::operator=(Partition other) noexcept {
  std::swap(leader_, other.leader_);
  std::swap(leader_epoch_, other.leader_epoch_);
  std::swap(partition_epoch_, other.partition_epoch_);
  std::swap(counts_, other.counts_);
  std::swap(recovery_, other.recovery_);
  std::swap(values_, other.values_);
  return *this;
}

Partition::~Partition() {
  if (!is_inline()) delete[] data();
}

const NodeId* Partition::data() const {
  if (is_inline()) return values_;
  const NodeId* heap;
  std::memcpy(&heap, static_cast<const void*>(values_), sizeof(heap));
  return heap;
}

std::span<const NodeId> Partition::list(size_t which) const {
  const NodeId* at = data();
  for (size_t i = 0; i < which; ++i) at += counts_[i];
  return {at, counts_[which]};
}

DirectoryId Partition::directory(size_t replica_position) const {
  const auto numbers = list(directories_list);
  if (numbers.empty()) return directory_migrating;
  return directory_by_number(static_cast<uint32_t>(numbers[replica_position].value));
}

std::vector<DirectoryId> Partition::directories() const {
  std::vector<DirectoryId> all(counts_[0]);
  for (size_t i = 0; i < all.size(); ++i) all[i] = directory(i);
  return all;
}

DirectoryId Partition::directory_of(NodeId replica) const {
  const auto all = replicas();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == replica) return directory(i);
  }
  return directory_unassigned;
}

PartitionState Partition::state() const {
  const auto copy = [this](size_t which) {
    const auto from = list(which);
    return std::vector<NodeId>(from.begin(), from.end());
  };
  return {.replicas = copy(0), .directories = directories(), .isr = copy(1), .removing = copy(3), .adding = copy(4), .elr = copy(5),
          .last_known_elr = copy(6), .leader = leader_, .recovery = recovery_, .leader_epoch = leader_epoch_, .partition_epoch = partition_epoch_};
}

bool operator==(const Partition& a, const Partition& b) {
  return a.leader_ == b.leader_ && a.leader_epoch_ == b.leader_epoch_ && a.partition_epoch_ == b.partition_epoch_ && a.recovery_ == b.recovery_ &&
         std::equal(std::begin(a.counts_), std::end(a.counts_), std::begin(b.counts_)) && std::equal(a.data(), a.data() + a.total(), b.data());
}

}  // namespace castellan::image

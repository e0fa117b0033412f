// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/heartbeats.h"

#include <algorithm>

namespace castellan::controller {

void Heartbeats::claim(const image::Cluster& cluster, MonotonicTime now) {
  brokers_.clear();
  contacts_.clear();
  for (const auto& [id, broker] : cluster.brokers) {
    brokers_[id] = {.fenced = broker.fenced};
    if (!broker.fenced) touch_session(id, broker.epoch, now);
  }
}

bool Heartbeats::has_session(NodeId id, BrokerEpoch epoch, MonotonicTime now) const {
  const auto contact = contacts_.find({id, epoch});
  return contact != contacts_.end() && contact->second + session_timeout_ >= now;
}

std::optional<std::pair<NodeId, BrokerEpoch>> Heartbeats::take_expired(MonotonicTime now) {
  for (auto contact = contacts_.begin(); contact != contacts_.end(); ++contact) {
    if (contact->second + session_timeout_ >= now) continue;
    const auto whose = contact->first;
    contacts_.erase(contact);
    return whose;
  }
  return std::nullopt;
}

MonotonicTime Heartbeats::next_expiry() const {
  MonotonicTime first = MonotonicTime::never();
  for (const auto& [whose, contact] : contacts_) first = std::min(first, contact + session_timeout_ + Duration(1));
  return first;
}

std::optional<MonotonicTime> Heartbeats::last_contact(NodeId id, BrokerEpoch epoch) const {
  const auto contact = contacts_.find({id, epoch});
  return contact == contacts_.end() ? std::nullopt : std::optional(contact->second);
}

void Heartbeats::register_broker(NodeId id, bool fenced, bool new_incarnation) {
  if (new_incarnation) brokers_.erase(id);
  Broker& broker = brokers_[id];
  broker.fenced = fenced;
  if (fenced) broker.shutdown_offset.reset();
}

void Heartbeats::fence(NodeId id) {
  const auto broker = brokers_.find(id);
  if (broker == brokers_.end()) return;
  broker->second.fenced = true;
  broker->second.shutdown_offset.reset();
}

BrokerControlState Heartbeats::state(NodeId id) const {
  const auto broker = brokers_.find(id);
  if (broker == brokers_.end()) return BrokerControlState::FENCED;
  if (broker->second.shutdown_offset) return BrokerControlState::CONTROLLED_SHUTDOWN;
  return broker->second.fenced ? BrokerControlState::FENCED : BrokerControlState::UNFENCED;
}

BrokerControlState Heartbeats::next_state(NodeId id, const HeartbeatRequest& request) const {
  const BrokerControlState current = state(id);
  switch (current) {
    case BrokerControlState::FENCED:
      if (request.want_shut_down) return BrokerControlState::SHUTDOWN_NOW;
      if (!request.want_fence && request.metadata_offset >= request.registration_offset) return BrokerControlState::UNFENCED;
      return BrokerControlState::FENCED;
    case BrokerControlState::UNFENCED:
      if (request.want_fence) return request.want_shut_down ? BrokerControlState::SHUTDOWN_NOW : BrokerControlState::FENCED;
      if (!request.want_shut_down) return BrokerControlState::UNFENCED;
      return request.leads_something ? BrokerControlState::CONTROLLED_SHUTDOWN : BrokerControlState::SHUTDOWN_NOW;
    case BrokerControlState::CONTROLLED_SHUTDOWN:
      if (request.leads_something) return BrokerControlState::CONTROLLED_SHUTDOWN;
      return *brokers_.at(id).shutdown_offset <= lowest_active_offset() ? BrokerControlState::SHUTDOWN_NOW : BrokerControlState::CONTROLLED_SHUTDOWN;
    case BrokerControlState::SHUTDOWN_NOW: break;
  }
  return BrokerControlState::SHUTDOWN_NOW;
}

void Heartbeats::update(NodeId id, BrokerControlState state, Offset metadata_offset) {
  Broker& broker = brokers_[id];
  broker.fenced = state == BrokerControlState::FENCED || state == BrokerControlState::SHUTDOWN_NOW;
  broker.metadata_offset = metadata_offset;
  if (broker.fenced) broker.shutdown_offset.reset();
}

void Heartbeats::begin_controlled_shutdown(NodeId id, Offset offset) {
  Broker& broker = brokers_[id];
  if (!broker.shutdown_offset) broker.shutdown_offset = offset;
}

bool Heartbeats::shutting_down(NodeId id) const {
  const auto broker = brokers_.find(id);
  return broker != brokers_.end() && broker->second.shutdown_offset.has_value();
}

Offset Heartbeats::lowest_active_offset() const {
  Offset lowest{INT64_MAX};
  for (const auto& [id, broker] : brokers_) {
    if (!broker.fenced && !broker.shutdown_offset) lowest = std::min(lowest, broker.metadata_offset);
  }
  return lowest;
}

}  // namespace castellan::controller

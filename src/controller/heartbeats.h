// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the active controller knows of brokers from their heartbeats: who is alive, how far each has read the metadata,
// who is shutting down. Soft state: it is not in the log, begins anew with each claim of leadership, and is gone with it.
//
//         register           caught up, wants no fence
//   --------------> FENCED ----------------------------> UNFENCED
//                     ^                                    |   |  wants to shut down and leads something
//                     |   wants fence, session ran out     |   v
//                     +------------------------------------+  CONTROLLED_SHUTDOWN
//                                                          |   |  leads nothing, and every active broker has read that
//                                                          v   v
//                                                        SHUTDOWN_NOW
//
// Times are monotonic; sessions are by broker id and epoch, so that a late heartbeat of an older registration keeps
// nobody alive.

#pragma once

#include <map>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "image/image.h"

namespace castellan::controller {

enum class BrokerControlState { FENCED, UNFENCED, CONTROLLED_SHUTDOWN, SHUTDOWN_NOW };

struct HeartbeatRequest {
  bool want_fence = false;
  bool want_shut_down = false;
  Offset metadata_offset{-1};
  Offset registration_offset{0};
  bool leads_something = false;
};

class Heartbeats {
 public:
  explicit Heartbeats(Duration session_timeout) : session_timeout_(session_timeout) {}

  // After a failover: unfenced brokers get a whole session to report, fenced ones none, so that they may register at once.
  void claim(const image::Cluster& cluster, MonotonicTime now);

  // --- sessions
  void touch_session(NodeId id, BrokerEpoch epoch, MonotonicTime now) { contacts_[{id, epoch}] = now; }
  void end_session(NodeId id, BrokerEpoch epoch) { contacts_.erase({id, epoch}); }
  bool has_session(NodeId id, BrokerEpoch epoch, MonotonicTime now) const;
  // Forgets one session that has run out, and says whose it was.
  std::optional<std::pair<NodeId, BrokerEpoch>> take_expired(MonotonicTime now);
  // When the next session runs out.
  MonotonicTime next_expiry() const;
  std::optional<MonotonicTime> last_contact(NodeId id, BrokerEpoch epoch) const;

  // --- states
  void register_broker(NodeId id, bool fenced, bool new_incarnation);
  void forget(NodeId id) { brokers_.erase(id); }
  void fence(NodeId id);
  // The registered, as they stand; a broker that is not known is FENCED.
  BrokerControlState state(NodeId id) const;
  BrokerControlState next_state(NodeId id, const HeartbeatRequest& request) const;
  void update(NodeId id, BrokerControlState state, Offset metadata_offset);
  // The broker may go when every active broker has read up to `offset`, which holds its last leader move. Only the first
  // offset of a shutdown counts (C938).
  void begin_controlled_shutdown(NodeId id, Offset offset);
  bool shutting_down(NodeId id) const;

 private:
  struct Broker {
    bool fenced = true;
    Offset metadata_offset{-1};
    std::optional<Offset> shutdown_offset;
  };

  // Of the brokers that are unfenced and not shutting down.
  Offset lowest_active_offset() const;

  Duration session_timeout_;
  std::map<NodeId, Broker> brokers_;
  std::map<std::pair<NodeId, BrokerEpoch>, MonotonicTime> contacts_;
};

}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The active controller: takes requests, decides records and replies against the tip of the image, and keeps the soft state
// that is not in the log (sessions, states from heartbeats, timers). The quorum's shell drives it:
//
//   Controller controller(settings, seed);
//   controller.claim(tip, now);                                      // this node leads now
//   append(controller.activate(context, open_transaction, bootstrap));
//   for each request:  result = controller.handle(request, context);
//                      apply result.records to the tip, append them, park result.reply until they are committed
//   at next_deadline:  while (auto result = controller.tick(context)) append(*result);   // with a new context each time
//   controller.renounce();                                           // somebody else leads: the tip is thrown away
//
// A result must be applied to the tip before the next call. Pure: no threads, clocks or files; one thread.

#pragma once

#include <optional>

#include "controller/context.h"
#include "controller/heartbeats.h"
#include "controller/mutation_quota.h"
#include "controller/topic_defaults.h"

namespace castellan::controller {

class Controller {
 public:
  Controller(Settings settings, uint64_t seed);

  const Settings& settings() const { return settings_; }

  // True for the APIs that handle() answers.
  static bool handles(wire::ApiKey api);

  void claim(const Image& tip, MonotonicTime now);
  void renounce();
  bool active() const { return active_; }

  Context context(const Image& tip, Now now, Offset next_offset);

  // The records to begin with; see controller/activation.h.
  Result<ControllerResult> activate(const Context& context, bool open_transaction, MetadataRecords bootstrap);

  // Every request has a reply; errors are in it. NOT_CONTROLLER when this node is not active.
  ControllerResult handle(const Request& request, const Context& context);

  // A heartbeat has come in but waits in a queue: its session must not run out meanwhile (C936).
  void touch_session(NodeId broker, BrokerEpoch epoch, MonotonicTime now);

  // The next piece of work whose time has come: one broker to fence, elections, an empty record. Nothing when all is done.
  // May be a result without records; ask again until it is nothing.
  std::optional<ControllerResult> tick(const Context& context);
  // When tick has something to do, at the earliest.
  MonotonicTime next_deadline() const;
  // What was last heard of each broker; for metrics.
  const Heartbeats& heartbeats() const { return heartbeats_; }

 private:
  struct Timer {
    Duration period{0};  // zero: never
    MonotonicTime next = MonotonicTime::never();

    void start(MonotonicTime now) { next = period.count() > 0 ? now + period : MonotonicTime::never(); }
    bool due(MonotonicTime now) const { return now >= next; }
  };

  Settings settings_;
  Prng random_;
  bool active_ = false;
  Heartbeats heartbeats_;
  TopicDefaults topic_defaults_;
  MutationQuotas mutation_quotas_;
  Timer no_op_;
  Timer balance_leaders_;
  Timer elect_unclean_;
};

// The response of any request with this error in the place where its clients look for it. The request is asked for what the
// answer must name (topics, resources).
Reply error_reply(const Request& request, const Error& error);

}  // namespace castellan::controller

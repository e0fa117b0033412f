// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The life of a broker in the controller's eyes: registration (KIP-631), heartbeats, controlled shutdown, fencing when a
// session runs out, unregistration. And of other controllers: registration (KIP-919) and unregistration (KIP-1312).

#pragma once

#include "controller/context.h"
#include "controller/heartbeats.h"

namespace castellan::wire {
struct BrokerHeartbeatRequest;
struct BrokerRegistrationRequest;
struct ControllerRegistrationRequest;
struct UnregisterBrokerRequest;
struct UnregisterControllerRequest;
}  // namespace castellan::wire

namespace castellan::controller {

// STALE_BROKER_EPOCH unless the broker is registered at this epoch.
Result<const image::BrokerRegistration*> broker_at_epoch(const Image& image, int32_t id, int64_t epoch);

ControllerResult register_broker(const Context& context, Heartbeats& heartbeats, const wire::BrokerRegistrationRequest& request, int16_t version);
ControllerResult broker_heartbeat(const Context& context, Heartbeats& heartbeats, const wire::BrokerHeartbeatRequest& request);
ControllerResult unregister_broker(const Context& context, const wire::UnregisterBrokerRequest& request);
ControllerResult register_controller(const Context& context, const wire::ControllerRegistrationRequest& request);
ControllerResult unregister_controller(const Context& context, const wire::UnregisterControllerRequest& request);

// Fences one broker whose session has run out; one at a time, so that the next is decided with the first one's partitions
// already moved.
ControllerResult fence_one_stale_broker(const Context& context, Heartbeats& heartbeats);

}  // namespace castellan::controller

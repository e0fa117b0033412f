// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken (KIP-48). A token may be had only over a connection that
// proves who asks, which needs SASL or TLS; a node with either does not start yet (config::check_supported). So every
// such request is refused as Kafka refuses it on a plain connection.

#pragma once

#include "controller/context.h"

namespace castellan::controller {

ControllerResult create_delegation_token(const Context& context, int16_t version);
ControllerResult renew_delegation_token(const Context& context);
ControllerResult expire_delegation_token(const Context& context);

}  // namespace castellan::controller

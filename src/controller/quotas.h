// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// AlterClientQuotas: limits by user, client id or address (KIP-546).

#pragma once

#include "controller/context.h"

namespace castellan::wire {
struct AlterClientQuotasRequest;
}

namespace castellan::controller {

ControllerResult alter_client_quotas(const Context& context, const wire::AlterClientQuotasRequest& request);

}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// AllocateProducerIds: a broker takes a block of a thousand producer ids, which it hands out on its own (KIP-730).

#pragma once

#include "controller/context.h"

namespace castellan::wire {
struct AllocateProducerIdsRequest;
}

namespace castellan::controller {

ControllerResult allocate_producer_ids(const Context& context, const wire::AllocateProducerIdsRequest& request);

}  // namespace castellan::controller

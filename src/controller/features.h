// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// UpdateFeatures: raises and lowers the finalized level of features (KIP-584, KIP-778, KIP-1022). All of a request or
// nothing.

#pragma once

#include "controller/context.h"

namespace castellan::wire {
struct UpdateFeaturesRequest;
}

namespace castellan::controller {

ControllerResult update_features(const Context& context, const wire::UpdateFeaturesRequest& request, int16_t version);

// What ELR needs before it is switched on: min.insync.replicas set for the whole cluster and for no broker.
void append_elr_safety_records(const Context& context, MetadataRecords& records);

}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a partition's leader (AlterPartition, KIP-497) and a broker's directories (AssignReplicasToDirs, KIP-858) report.

#pragma once

#include "controller/context.h"

namespace castellan::wire {
struct AlterPartitionRequest;
struct AssignReplicasToDirsRequest;
}  // namespace castellan::wire

namespace castellan::controller {

ControllerResult alter_partition(const Context& context, const wire::AlterPartitionRequest& request, int16_t version);
ControllerResult assign_replicas_to_dirs(const Context& context, const wire::AssignReplicasToDirsRequest& request);

}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Moving partitions to other brokers (AlterPartitionReassignments, ListPartitionReassignments, KIP-455). A reassignment ends by
// itself when the new replicas are in sync: controller/partition_change.h.

#pragma once

#include "controller/context.h"

namespace castellan::wire {
struct AlterPartitionReassignmentsRequest;
struct ListPartitionReassignmentsRequest;
}  // namespace castellan::wire

namespace castellan::controller {

ControllerResult alter_partition_reassignments(const Context& context, const wire::AlterPartitionReassignmentsRequest& request);
ControllerResult list_partition_reassignments(const Context& context, const wire::ListPartitionReassignmentsRequest& request);

}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// CreateTopics, DeleteTopics and CreatePartitions.

#pragma once

#include "controller/context.h"
#include "image/topics.h"

namespace castellan::wire {
struct CreatePartitionsRequest;
struct CreateTopicsRequest;
struct DeleteTopicsRequest;
}  // namespace castellan::wire

namespace castellan::controller {

ControllerResult create_topics(const Context& context, const wire::CreateTopicsRequest& request);
ControllerResult delete_topics(const Context& context, const wire::DeleteTopicsRequest& request, int16_t version);
ControllerResult create_partitions(const Context& context, const wire::CreatePartitionsRequest& request);

// 1 to 249 of a-z A-Z 0-9 . _ -, and neither "." nor "..". Errors: INVALID_TOPIC_EXCEPTION in Kafka's words.
Result<void> validate_topic_name(std::string_view name);

// The rules for replicas that somebody chose by hand. `replication_factor` is that of the other partitions, if there are any.
// Errors: INVALID_REPLICA_ASSIGNMENT.
Result<void> validate_assignment(const Context& context, const std::vector<int32_t>& replicas, std::optional<size_t> replication_factor);

}  // namespace castellan::controller

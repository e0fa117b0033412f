// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What `quorum describe` prints, byte for byte as Apache Kafka's tool (tools.md MQ-03 to MQ-06). Pure.
//
// Errors: a leader that is none of the voters; a time in the future, or none, where a relative one was asked for.

#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "wire/messages/describe_quorum_response.h"

namespace castellan::cli {

Result<std::string> quorum_status(const std::string& cluster_id, const wire::DescribeQuorumResponse& quorum);
// `now`: times become "12 ms ago".
Result<std::string> quorum_replication(const wire::DescribeQuorumResponse& quorum, std::optional<WallTime> now);

}  // namespace castellan::cli

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/result.h"

#include "wire/codec.h"
#include "wire/record_frame.h"

namespace castellan::controller {

Result<void> check_batch_size(const ControllerResult& result) {
  constexpr size_t framing_max = 32;  // of one record: in the batch, and its type and version
  size_t total = 0;
  for (const MetadataRecord& record : result.records) {
    const auto size = wire::encoded_size_of(wire::info_of(record.message), wire::address_of(record.message), record.version);
    CHECK(size.has_value(), "{}", size.error().message);
    total += *size + framing_max;
    if (*size + framing_max > batch_bytes_max) {
      return fail(ErrorCode::INVALID_REQUEST, "The request makes a {} of {} bytes; one batch of the metadata log takes {}", image::record_name(record), *size,
                  batch_bytes_max);
    }
  }
  if (!result.atomic || total <= batch_bytes_max) return {};
  return fail(ErrorCode::INVALID_REQUEST, "The request makes {} bytes of metadata records; one batch of the metadata log takes {}. Ask for less at once.", total,
              batch_bytes_max);
}

std::string default_message(ErrorCode code) {
  switch (code) {
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION: return "This server does not host this topic-partition.";
    case ErrorCode::UNKNOWN_TOPIC_ID: return "This server does not host this topic ID.";
    case ErrorCode::TOPIC_AUTHORIZATION_FAILED: return "Topic authorization failed.";
    case ErrorCode::GROUP_AUTHORIZATION_FAILED: return "Group authorization failed.";
    case ErrorCode::CLUSTER_AUTHORIZATION_FAILED: return "Cluster authorization failed.";
    case ErrorCode::TOPIC_DELETION_DISABLED: return "Topic deletion is disabled.";
    case ErrorCode::ELECTION_NOT_NEEDED: return "Leader election not needed for topic partition.";
    case ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE: return "The preferred leader was not available.";
    case ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE: return "Eligible topic partition leaders are not available.";
    case ErrorCode::NO_REASSIGNMENT_IN_PROGRESS: return "No partition reassignment is in progress.";
    case ErrorCode::POLICY_VIOLATION: return "Request parameters do not satisfy the configured policy.";
    case ErrorCode::SECURITY_DISABLED: return "Security features are disabled.";
    case ErrorCode::DELEGATION_TOKEN_AUTH_DISABLED: return "Delegation Token feature is not enabled.";
    case ErrorCode::NOT_CONTROLLER: return "This is not the correct controller for this cluster.";
    case ErrorCode::REQUEST_TIMED_OUT: return "The request timed out.";
    case ErrorCode::UNSUPPORTED_VERSION: return "The version of API is not supported.";
    default: return std::string(error_name(code));
  }
}

}  // namespace castellan::controller

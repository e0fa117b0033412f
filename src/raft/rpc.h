// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Between Kafka's messages and the flat ones of messages.h. Everything that the wire has and the protocol does not need (topic
// arrays, throttle times, two places for the replica id) ends here.
//
// Errors: INVALID_REQUEST for bytes that are not the message, UNSUPPORTED_VERSION for what a version cannot say.

#pragma once

#include "base/result.h"
#include "raft/messages.h"

namespace castellan::raft {

// Vote, BeginQuorumEpoch, EndQuorumEpoch, DescribeQuorum, Fetch, FetchSnapshot, and the voter changes.
bool is_quorum_api(int16_t api_key);

Result<RequestBody> decode_request(int16_t api_key, int16_t version, BytesView body);
Result<Bytes> encode_response(int16_t api_key, int16_t version, const ResponseBody& response);

int16_t api_key_of(const RequestBody& request);
Result<Bytes> encode_request(const RequestBody& request, int16_t version);
Result<ResponseBody> decode_response(int16_t api_key, int16_t version, BytesView body);

}  // namespace castellan::raft

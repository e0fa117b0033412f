// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Envelope (58), KIP-590: a broker passes a client's request on to the active controller as it came, with the client's principal and
// address.
//
//   broker      auto body = wrap(call);  ...  TRY(auto answer, unwrap_answer(call, envelope_answer))
//   controller  TRY(auto inner, unwrap(envelope));  ...  reply(answer_envelope(inner, answer))
//
// Errors: those of the envelope itself (C50, C428): PRINCIPAL_DESERIALIZATION_FAILURE, INVALID_REQUEST, UNSUPPORTED_VERSION, NOT_CONTROLLER.
// Pure.

#pragma once

#include "broker/loop.h"
#include "quorum/metadata_node.h"
#include "wire/header.h"
#include "wire/messages/envelope_request.h"
#include "wire/messages/envelope_response.h"

namespace castellan::node {

inline constexpr int16_t envelope_version = 0;

// The body of an EnvelopeRequest.
Bytes wrap(const broker::ControllerRequest& call);
// The body of the answer inside an EnvelopeResponse. UNKNOWN_SERVER_ERROR for what the client need not know of.
Result<Bytes> unwrap_answer(const broker::ControllerRequest& call, BytesView envelope_body);

struct Wrapped {
  wire::RequestStart start;
  quorum::MetadataRequest request;  // without its listener
};
Result<Wrapped> unwrap(const wire::EnvelopeRequest& envelope);
// `answer` is the body of the inner response. An answer that says "not the leader" makes the broker try again elsewhere (C53, C54).
wire::EnvelopeResponse answer_envelope(const Wrapped& wrapped, const Result<Bytes>& answer);

}  // namespace castellan::node

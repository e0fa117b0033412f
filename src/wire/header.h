// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Frames: four bytes of size (not counted in it), a header, a message. This file is the part between the size and the
// message, both ways, and the whole frame on the way out.
//
//   Reader reader(frame);                                    // without the size
//   TRY(auto header, read_request_header(reader));           // an error here closes the connection, as in Kafka
//   TRY(auto request, decode_as<FetchRequest>(header.version, reader));
//   TRY(auto out, encode_response(header, response));        // size, header and body

#pragma once

#include <string>

#include "base/result.h"
#include "wire/api.h"
#include "wire/codec.h"

namespace castellan::wire {

struct RequestStart {
  const ApiInfo* api = nullptr;
  int16_t version = 0;
  int32_t correlation_id = 0;
  std::string client_id;            // empty for null
  // False only for ApiVersions in a version that we do not have: it is answered in version 0 with UNSUPPORTED_VERSION
  // and our range, so that the client can choose; its body cannot be read.
  bool version_supported = true;
};

// Errors: INVALID_REQUEST for a header that cannot be read or an unknown API key, UNSUPPORTED_VERSION for a version that
// the API does not have.
Result<RequestStart> read_request_header(Reader& reader);

// The header of a response in the form that belongs to `version` of the request.
void write_response_header(const ApiInfo& api, int16_t version, int32_t correlation_id, Writer& writer);
// Answers the correlation id.
Result<int32_t> read_response_header(const ApiInfo& api, int16_t version, Reader& reader);

// Whole frames with their size. The message must be the API's own.
Result<OutputChain> encode_response_frame(const ApiInfo& api, int16_t version, int32_t correlation_id, const MessageInfo& info, const void* message);
Result<OutputChain> encode_request_frame(const ApiInfo& api, int16_t version, int32_t correlation_id, std::string_view client_id,
                                         const MessageInfo& info, const void* message);

// The whole frame of a request whose body is encoded already.
Result<Bytes> frame_request(const ApiInfo& api, int16_t version, int32_t correlation_id, std::string_view client_id, BytesView body);

template <class M>
Result<OutputChain> encode_response(const RequestStart& start, const M& message) {
  return encode_response_frame(*start.api, start.version_supported ? start.version : 0, start.correlation_id, M::info(), &message);
}
template <class M>
Result<OutputChain> encode_request(int16_t version, int32_t correlation_id, std::string_view client_id, const M& message) {
  return encode_request_frame(*find_api(M::info().key), version, correlation_id, client_id, M::info(), &message);
}

}  // namespace castellan::wire

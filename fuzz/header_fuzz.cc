// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A frame from a socket: the request's header, then the body in the version that the header names; and response headers.

#include "fuzz.h"
#include "wire/header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  const BytesView frame(data, size);
  wire::Reader reader(frame);
  if (auto start = wire::read_request_header(reader)) {
    CHECK(start->api != nullptr);
    CHECK(start->version_supported || start->api->key == wire::ApiKey::API_VERSIONS);
    if (start->version_supported) fuzz::decode_and_back(*start->api->request, start->version, reader.rest(), wire::DecodeMode::LENIENT);
  }
  for (const int16_t version : {int16_t{0}, int16_t{9}}) {
    wire::Reader response(frame);
    (void)wire::read_response_header(*wire::find_api(wire::ApiKey::METADATA), version, response);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The value of a metadata record: what decodes is written back to the same bytes, and has JSON.

#include "fuzz.h"
#include "wire/record_frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  const BytesView value(data, size);
  auto decoded = wire::decode_metadata_record(value);
  if (!decoded) return 0;
  auto bytes = wire::encode_metadata_record(decoded->record, decoded->version);
  CHECK(bytes && std::equal(bytes->begin(), bytes->end(), value.begin(), value.end()));
  auto json = wire::metadata_record_to_json(*decoded);
  CHECK(json);
  (void)json->dump();
  return 0;
}

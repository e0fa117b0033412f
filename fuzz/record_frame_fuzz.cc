// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The value of a metadata record: what decodes can be written, reads back as the same, and has JSON.

#include "fuzz.h"
#include "wire/record_frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  const BytesView value(data, size);
  auto decoded = wire::decode_metadata_record(value);
  if (!decoded) return 0;
  auto bytes = wire::encode_metadata_record(decoded->record, decoded->version);
  CHECK(bytes && bytes->size() <= value.size());
  auto again = wire::decode_metadata_record(*bytes);
  CHECK(again && again->version == decoded->version);
  CHECK(wire::encode_metadata_record(again->record, again->version) == bytes);   // by bytes: a double may be no number
  auto json = wire::metadata_record_to_json(*decoded);
  CHECK(json);
  (void)json->dump();
  return 0;
}

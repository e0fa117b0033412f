// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One record of the metadata log: any of the generated metadata messages and the version it is written in. On disk it is
// the value of a record, framed as wire/record_frame.h says (KIP-631).
//
//   TRY(auto record, decode_metadata_record(value));
//   TRY_VOID(apply(image, record, offset));
//   Bytes value = encode_metadata_record({.version = 0, .message = wire::NoOpRecord{}});

#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/any_metadata_record.h"

namespace castellan::wire {
class Writer;
}

namespace castellan::image {

struct MetadataRecord {
  int16_t version = 0;
  wire::AnyMetadataRecord message;

  friend bool operator==(const MetadataRecord&, const MetadataRecord&) = default;
};
using MetadataRecords = std::vector<MetadataRecord>;

// "PartitionRecord"
std::string_view record_name(const MetadataRecord& record);

// The value of a record. Errors: those of wire::decode_metadata_record.
Result<MetadataRecord> decode_metadata_record(BytesView value);
// The same into one that is used again and again.
Result<void> decode_metadata_record(BytesView value, MetadataRecord& record);
// CHECKs that the message can be said in its version: who makes a record chooses both.
Bytes encode_metadata_record(const MetadataRecord& record);
// Behind what is written already.
void encode_metadata_record(const MetadataRecord& record, wire::Writer& writer);

}  // namespace castellan::image

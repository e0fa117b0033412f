// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/metadata_record.h"

#include "base/check.h"
#include "wire/record_frame.h"

namespace castellan::image {

std::string_view record_name(const MetadataRecord& record) { return wire::info_of(record.message).name; }

Result<MetadataRecord> decode_metadata_record(BytesView value) {
  TRY(auto decoded, wire::decode_metadata_record(value));
  return MetadataRecord{.version = decoded.version, .message = std::move(decoded.record)};
}

Bytes encode_metadata_record(const MetadataRecord& record) {
  auto bytes = wire::encode_metadata_record(record.message, record.version);
  CHECK(bytes.has_value(), "{}", bytes.error().message);
  return std::move(*bytes);
}

}  // namespace castellan::image

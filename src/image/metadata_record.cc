// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/metadata_record.h"

#include "base/check.h"
#include "wire/record_frame.h"

namespace castellan::image {

std::string_view record_name(const MetadataRecord& record) { return wire::info_of(record.message).name; }

Result<MetadataRecord> decode_metadata_record(BytesView value) {
  MetadataRecord record;
  TRY_VOID(decode_metadata_record(value, record));
  return record;
}

Result<void> decode_metadata_record(BytesView value, MetadataRecord& record) {
  TRY(record.version, wire::decode_metadata_record(value, record.message));
  return {};
}

Bytes encode_metadata_record(const MetadataRecord& record) {
  auto bytes = wire::encode_metadata_record(record.message, record.version);
  CHECK(bytes.has_value(), "{}", bytes.error().message);
  return std::move(*bytes);
}

void encode_metadata_record(const MetadataRecord& record, wire::Writer& writer) {
  const auto written = wire::encode_metadata_record(wire::info_of(record.message), wire::address_of(record.message), record.version, writer);
  CHECK(written.has_value(), "{}", written.error().message);
}

}  // namespace castellan::image

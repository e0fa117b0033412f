// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// How records of the metadata log and of the coordinators' logs are framed inside a record batch.
//
// Metadata record (value; the key is null):  varint 1 (frame version), varint record type, varint version, body.
// Coordinator record:                        key   = int16 record type, body in version 0
//                                            value = int16 version, body; no value is a tombstone
//
//   TRY(auto bytes, encode_metadata_record(TopicRecord{.name = "orders", .topic_id = id}, 0));
//   TRY(auto decoded, decode_metadata_record(bytes));      // decoded.record is a variant
//
// Decoding is strict: what a writer would not write is an error.

#pragma once

#include "base/result.h"
#include "wire/any_metadata_record.h"
#include "wire/codec.h"

namespace castellan::wire {

struct DecodedMetadataRecord {
  AnyMetadataRecord record;
  int16_t version = 0;
};

MetadataRecordType type_of(const AnyMetadataRecord& record);
const MessageInfo& info_of(const AnyMetadataRecord& record);
// The struct inside, for code that goes by tables.
const void* address_of(const AnyMetadataRecord& record);

Result<Bytes> encode_metadata_record(const AnyMetadataRecord& record, int16_t version);
Result<void> encode_metadata_record(const MessageInfo& info, const void* record, int16_t version, Writer& writer);
// Errors: INVALID_REQUEST, with the type's name, for bad bytes; UNSUPPORTED_VERSION for a frame version, type or version
// that we do not know (written by a later release).
Result<DecodedMetadataRecord> decode_metadata_record(BytesView value);
// The same into a record that is there; its version.
Result<int16_t> decode_metadata_record(BytesView value, AnyMetadataRecord& record);

// Type and version alone, without the body: for tools that want to name what they cannot decode.
struct MetadataRecordHead {
  uint32_t frame_version = 0;
  uint32_t type = 0;
  uint32_t version = 0;
};
Result<MetadataRecordHead> read_metadata_record_head(Reader& reader);

Result<Bytes> encode_coordinator_part(const MessageInfo& info, const void* part, int16_t number, int16_t version);
Result<void> decode_coordinator_part(const MessageInfo& info, void* part, int16_t version, BytesView body);

template <class Key>
Result<Bytes> encode_coordinator_key(const Key& key) {
  return encode_coordinator_part(Key::info(), &key, Key::info().key, 0);
}
template <class Value>
Result<Bytes> encode_coordinator_value(const Value& value, int16_t version) {
  return encode_coordinator_part(Value::info(), &value, version, version);
}

// The number in front: the record type of a key, the version of a value.
Result<int16_t> coordinator_number(BytesView bytes);

// The caller has looked at coordinator_number and knows the type.
template <class Key>
Result<Key> decode_coordinator_key(BytesView bytes) {
  Key key;
  TRY(const int16_t type, coordinator_number(bytes));
  if (type != Key::info().key) return fail(ErrorCode::INVALID_REQUEST, "a key of record type {} is no {}", type, Key::info().name);
  TRY_VOID(decode_coordinator_part(Key::info(), &key, 0, bytes.subspan(2)));
  return key;
}
template <class Value>
Result<Value> decode_coordinator_value(BytesView bytes) {
  Value value;
  TRY(const int16_t version, coordinator_number(bytes));
  TRY_VOID(decode_coordinator_part(Value::info(), &value, version, bytes.subspan(2)));
  return value;
}

}  // namespace castellan::wire

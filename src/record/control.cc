// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "record/control.h"

#include "base/check.h"
#include "wire/codec.h"
#include "wire/messages/kraft_version_record.h"
#include "wire/messages/leader_change_message.h"
#include "wire/messages/snapshot_footer_record.h"
#include "wire/messages/snapshot_header_record.h"
#include "wire/messages/voters_record.h"

namespace castellan::record {
namespace {

constexpr size_t key_size = 4;
constexpr size_t end_transaction_value_size = 6;

template <class M>
Bytes encode_value(const M& message) {
  auto bytes = wire::encode_to_bytes(message, message.version);
  CHECK(bytes.has_value(), "{}", bytes.error().message);
  return std::move(*bytes);
}

template <class M>
Result<void> decode_value(M& message, BytesView value) {
  if (value.size() < 2) return fail(ErrorCode::CORRUPT_MESSAGE, "a control record's value of {} bytes has no version", value.size());
  const int16_t version = load_big_endian<int16_t>(value.data());
  auto decoded = wire::decode_exactly<M>(version, value);
  if (!decoded) return fail(ErrorCode::CORRUPT_MESSAGE, "{}", decoded.error().message);
  message = std::move(*decoded);
  return {};
}

}  // namespace

Bytes control_key(ControlType type) {
  Bytes key(key_size);
  store_big_endian<int16_t>(key.data() + 2, static_cast<int16_t>(type));  // before it: version 0
  return key;
}

Result<ControlType> parse_control_key(std::optional<BytesView> key) {
  if (!key || key->size() < key_size)
    return fail(ErrorCode::CORRUPT_MESSAGE, "a control record's key of {} bytes names no type", key ? key->size() : 0);
  const int16_t version = load_big_endian<int16_t>(key->data());
  if (version < 0) return fail(ErrorCode::CORRUPT_MESSAGE, "a control record's key has version {}", version);
  const int16_t type = load_big_endian<int16_t>(key->data() + 2);
  if (type < 0 || type > static_cast<int16_t>(ControlType::kraft_voters)) return ControlType::unknown;
  return static_cast<ControlType>(type);
}

Bytes control_batch(BatchOptions options, int64_t timestamp, std::span<const ControlRecord> records) {
  CHECK(options.compression == Compression::none, "control batches are not compressed");
  options.control = true;
  BatchBuilder builder(options);
  for (const ControlRecord& record : records) builder.append(timestamp, control_key(record.type), record.value);
  return builder.finish();
}

Bytes encode_control_value(const wire::LeaderChangeMessage& message) { return encode_value(message); }
Bytes encode_control_value(const wire::SnapshotHeaderRecord& message) { return encode_value(message); }
Bytes encode_control_value(const wire::SnapshotFooterRecord& message) { return encode_value(message); }
Bytes encode_control_value(const wire::KRaftVersionRecord& message) { return encode_value(message); }
Bytes encode_control_value(const wire::VotersRecord& message) { return encode_value(message); }
Result<void> decode_control_value(wire::LeaderChangeMessage& message, BytesView value) { return decode_value(message, value); }
Result<void> decode_control_value(wire::SnapshotHeaderRecord& message, BytesView value) { return decode_value(message, value); }
Result<void> decode_control_value(wire::SnapshotFooterRecord& message, BytesView value) { return decode_value(message, value); }
Result<void> decode_control_value(wire::KRaftVersionRecord& message, BytesView value) { return decode_value(message, value); }
Result<void> decode_control_value(wire::VotersRecord& message, BytesView value) { return decode_value(message, value); }

Bytes end_transaction_batch(int64_t timestamp, int64_t producer_id, int16_t producer_epoch, EndTransactionMarker marker) {
  Bytes value(end_transaction_value_size);
  store_big_endian<int32_t>(value.data() + 2, marker.coordinator_epoch);  // before it: version 0
  const ControlRecord record{marker.commit ? ControlType::commit : ControlType::abort, std::move(value)};
  return control_batch({.producer_id = producer_id, .producer_epoch = producer_epoch, .transactional = true}, timestamp, {&record, 1});
}

Result<EndTransactionMarker> parse_end_transaction_marker(const Record& record) {
  TRY(const ControlType type, parse_control_key(record.key));
  if (type != ControlType::commit && type != ControlType::abort)
    return fail(ErrorCode::CORRUPT_MESSAGE, "a control record of type {} ends no transaction", static_cast<int16_t>(type));
  // Later versions only add fields: what follows the epoch is not looked at.
  if (!record.value || record.value->size() < end_transaction_value_size || load_big_endian<int16_t>(record.value->data()) < 0)
    return fail(ErrorCode::CORRUPT_MESSAGE, "a transaction marker's value of {} bytes is too short or has a negative version",
                record.value ? record.value->size() : 0);
  return EndTransactionMarker{type == ControlType::commit, load_big_endian<int32_t>(record.value->data() + 2)};
}

}  // namespace castellan::record

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Control records: what the quorum and transactions write into a log for themselves, in batches with the control bit.
// A key is {int16 version = 0, int16 type}, a value is a message of its own; see doc/formats/control-records.md
// (KIP-98, KIP-595, KIP-630, KIP-853).
//
//   Bytes batch = control_batch({.base_offset = 0, .leader_epoch = 3}, now, {{{ControlType::leader_change, encode(message)}}});

#pragma once

#include "record/batch.h"
#include "record/builder.h"

namespace castellan::wire {
struct KRaftVersionRecord;
struct LeaderChangeMessage;
struct SnapshotFooterRecord;
struct SnapshotHeaderRecord;
struct VotersRecord;
}  // namespace castellan::wire

namespace castellan::record {

// The numbers are on disk.
enum class ControlType : int16_t {
  abort = 0,
  commit = 1,
  leader_change = 2,
  snapshot_header = 3,
  snapshot_footer = 4,
  kraft_version = 5,
  kraft_voters = 6,
  unknown = -1,  // a type of a later Kafka: skipped
};

Bytes control_key(ControlType type);
// The type a key names; a key too short for one is CORRUPT_MESSAGE.
Result<ControlType> parse_control_key(std::optional<BytesView> key);

struct ControlRecord {
  ControlType type = ControlType::unknown;
  Bytes value;
};

// One control batch with these records, all at `timestamp`. The control bit is set here.
Bytes control_batch(BatchOptions options, int64_t timestamp, std::span<const ControlRecord> records);

// Values of the quorum's control records. Each carries its version inside; encoding writes the version the message names.
Bytes encode_control_value(const wire::LeaderChangeMessage& message);
Bytes encode_control_value(const wire::SnapshotHeaderRecord& message);
Bytes encode_control_value(const wire::SnapshotFooterRecord& message);
Bytes encode_control_value(const wire::KRaftVersionRecord& message);
Bytes encode_control_value(const wire::VotersRecord& message);
Result<void> decode_control_value(wire::LeaderChangeMessage& message, BytesView value);
Result<void> decode_control_value(wire::SnapshotHeaderRecord& message, BytesView value);
Result<void> decode_control_value(wire::SnapshotFooterRecord& message, BytesView value);
Result<void> decode_control_value(wire::KRaftVersionRecord& message, BytesView value);
Result<void> decode_control_value(wire::VotersRecord& message, BytesView value);

// The end of a transaction on one partition: value {int16 version = 0, int32 coordinator epoch}.
struct EndTransactionMarker {
  bool commit = false;
  int32_t coordinator_epoch = 0;

  friend bool operator==(const EndTransactionMarker&, const EndTransactionMarker&) = default;
};

Bytes end_transaction_batch(int64_t timestamp, int64_t producer_id, int16_t producer_epoch, EndTransactionMarker marker);
// Reads a record of a control batch; not a marker (another type) is CORRUPT_MESSAGE.
Result<EndTransactionMarker> parse_end_transaction_marker(const Record& record);

}  // namespace castellan::record

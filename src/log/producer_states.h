// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a partition remembers of each producer: epoch, the last five batches (for duplicates), the open transaction (KIP-98;
// B194 to B204). Kept in memory, rebuilt from the log, saved in <offset>.snapshot files (doc/formats/producer-snapshot.md).
//
// Plain data and rules: no files but in read_snapshot and write_snapshot. Iteration is by producer id, so equal states write equal bytes.

#pragma once

#include <map>
#include <optional>
#include <set>

#include "io/file.h"
#include "log/transaction_index.h"
#include "record/batch.h"
#include "record/control.h"

namespace castellan::log {

struct BatchMetadata {
  int32_t last_sequence = -1;
  int64_t last_offset = -1;
  int32_t offset_delta = 0;
  int64_t timestamp = -1;

  int32_t first_sequence() const { return record::sequence_plus(last_sequence, -offset_delta); }
  int64_t first_offset() const { return last_offset - offset_delta; }
  friend bool operator==(const BatchMetadata&, const BatchMetadata&) = default;
};

struct ProducerState {
  static constexpr size_t batches_kept = 5;

  int64_t producer_id = -1;
  int16_t epoch = -1;
  std::vector<BatchMetadata> batches;      // oldest first, at most batches_kept
  int64_t last_timestamp = -1;
  int32_t coordinator_epoch = -1;
  int64_t current_transaction_first_offset = -1;  // -1 none

  int32_t last_sequence() const { return batches.empty() ? -1 : batches.back().last_sequence; }
  int64_t last_offset() const { return batches.empty() ? -1 : batches.back().last_offset; }
  friend bool operator==(const ProducerState&, const ProducerState&) = default;
};

class ProducerStates {
 public:
  const std::map<int64_t, ProducerState>& all() const { return states_; }
  const ProducerState* find(int64_t producer_id) const;

  // --- before an append
  // The batch that was appended before with the same producer, epoch, first and last sequence.
  std::optional<BatchMetadata> duplicate_of(const record::BatchView& batch) const;
  // A snapshot has a producer's last batch only. True when this batch may be one of those before it, which only the log knows: find
  // them there, and add_history (log/producer_history.cc).
  bool wants_history(const record::BatchView& batch) const;
  // `older`, oldest first, come before the batches that are known.
  void add_history(int64_t producer_id, std::vector<BatchMetadata> older);
  // May this batch of a client follow what is known of its producer? INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE.
  Result<void> check(const record::BatchView& batch) const;
  // May a coordinator write this marker? INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED. With transaction version 2 each transaction
  // has an epoch of its own, so that an equal one is stale, unless the marker is a repeated one (B214).
  Result<void> check_marker(int64_t producer_id, int16_t epoch, const record::EndTransactionMarker& marker, int transaction_version = 0) const;

  // --- after an append, or while replaying
  // Takes the batch in; offsets are the batch's own.
  void update(const record::BatchView& batch);
  // Takes a marker in. The transaction it ended when there was one: an abort goes into the .txnindex.
  struct Completed {
    int64_t producer_id;
    int64_t first_offset;
    int64_t last_offset;
    bool aborted;
  };
  std::optional<Completed> end_transaction(int64_t producer_id, int16_t epoch, const record::EndTransactionMarker& marker, int64_t offset, int64_t timestamp);

  // The last stable offset when `completed` is the transaction that ended last: for the .txnindex.
  int64_t last_stable_offset_after(const Completed& completed) const;
  // The first offset that a committed read must not pass: of an open transaction, or of one whose marker is not below the high watermark yet.
  std::optional<int64_t> first_unstable_offset() const;
  std::optional<int64_t> first_undecided_offset() const;  // of an open transaction only: compaction's bound
  void on_high_watermark(int64_t high_watermark);

  void expire(int64_t now_ms, int64_t expiration_ms);  // idle ones without an open transaction (B202)
  void clear();
  // The log starts here now: transactions ended below are over. Producers stay (as in Kafka since KIP-360).
  void on_log_start(int64_t log_start_offset);

  // --- snapshots
  Bytes encode_snapshot() const;
  // Replaces everything. Expired producers are left out. CORRUPT_MESSAGE when the file is no snapshot.
  Result<void> decode_snapshot(BytesView bytes, int64_t now_ms, int64_t expiration_ms);

 private:
  std::map<int64_t, ProducerState> states_;
  std::map<int64_t, int64_t> open_;                     // first offset -> producer id
  std::map<int64_t, int64_t> ended_not_replicated_;     // first offset -> last offset (the marker's)
  std::set<int64_t> without_history_;                   // came from a snapshot, and were not looked up since
};

}  // namespace castellan::log

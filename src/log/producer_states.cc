// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/producer_states.h"

#include "base/crc32c.h"

namespace castellan::log {
namespace {

// The snapshot file: int16 version, uint32 CRC-32C of everything behind it, int32 count, entries.
constexpr int16_t snapshot_version = 1;
constexpr size_t checked_from = 6;
constexpr size_t entries_from = 10;
constexpr size_t entry_size = 46;

void take_epoch(ProducerState& state, int16_t epoch) {
  if (state.epoch == epoch) return;
  state.epoch = epoch;
  state.batches.clear();
}

bool in_sequence(int32_t last, int32_t next) { return next == int64_t{last} + 1 || (next == 0 && last == INT32_MAX); }

}  // namespace

const ProducerState* ProducerStates::find(int64_t producer_id) const {
  const auto found = states_.find(producer_id);
  return found == states_.end() ? nullptr : &found->second;
}

std::optional<BatchMetadata> ProducerStates::duplicate_of(const record::BatchView& batch) const {
  const ProducerState* state = find(batch.producer_id());
  if (!state || state->epoch != batch.producer_epoch()) return std::nullopt;
  for (const BatchMetadata& kept : state->batches)
    if (kept.first_sequence() == batch.base_sequence() && kept.last_sequence == batch.last_sequence()) return kept;
  return std::nullopt;
}

bool ProducerStates::wants_history(const record::BatchView& batch) const {
  if (!without_history_.contains(batch.producer_id())) return false;
  const ProducerState* state = find(batch.producer_id());
  return state && state->epoch == batch.producer_epoch() && !state->batches.empty() && state->batches.size() < ProducerState::batches_kept &&
         !in_sequence(state->last_sequence(), batch.base_sequence());
}

void ProducerStates::add_history(int64_t producer_id, std::vector<BatchMetadata> older) {
  without_history_.erase(producer_id);
  const auto found = states_.find(producer_id);
  if (found == states_.end()) return;
  auto& batches = found->second.batches;
  batches.insert(batches.begin(), older.begin(), older.end());
  if (batches.size() > ProducerState::batches_kept) batches.erase(batches.begin(), batches.end() - static_cast<ptrdiff_t>(ProducerState::batches_kept));
}

Result<void> ProducerStates::check(const record::BatchView& batch) const {
  const ProducerState* state = find(batch.producer_id());
  if (!state) return {};  // expired, deleted or new: any sequence will do
  const int16_t epoch = batch.producer_epoch();
  const int32_t sequence = batch.base_sequence();
  if (epoch < state->epoch)
    return fail(ErrorCode::INVALID_PRODUCER_EPOCH, "Epoch of producer {} is {}, which is smaller than the last seen epoch {}", batch.producer_id(), epoch,
                state->epoch);
  if (epoch != state->epoch) {
    if (sequence != 0 && state->epoch != record::no_producer_epoch)
      return fail(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, "Invalid sequence number for new epoch of producer {}: {} (request epoch), {} (seq. number), {} (current producer epoch)",
                  batch.producer_id(), epoch, sequence, state->epoch);
  } else if (!in_sequence(state->last_sequence(), sequence)) {
    return fail(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, "Out of order sequence number for producer {}: {} (incoming seq. number), {} (current end sequence number)",
                batch.producer_id(), sequence, state->last_sequence());
  }
  if (state->current_transaction_first_offset >= 0 && !batch.is_transactional())
    return fail(ErrorCode::INVALID_TXN_STATE, "Expected transactional write from producer {}: its transaction from offset {} is open", batch.producer_id(),
                state->current_transaction_first_offset);
  return {};
}

Result<void> ProducerStates::check_marker(int64_t producer_id, int16_t epoch, const record::EndTransactionMarker& marker, int transaction_version) const {
  const ProducerState* state = find(producer_id);
  if (!state) return {};
  const bool repeated = epoch == state->epoch && (state->current_transaction_first_offset < 0 || epoch == INT16_MAX);
  if (epoch < state->epoch || (transaction_version >= 2 && epoch == state->epoch && !repeated))
    return fail(ErrorCode::INVALID_PRODUCER_EPOCH, "Epoch of producer {} in a transaction marker is {}, the last seen epoch is {}", producer_id, epoch, state->epoch);
  if (marker.coordinator_epoch < state->coordinator_epoch)
    return fail(ErrorCode::TRANSACTION_COORDINATOR_FENCED, "Invalid coordinator epoch for producer {}: {} (zombie), {} (current)", producer_id,
                marker.coordinator_epoch, state->coordinator_epoch);
  return {};
}

void ProducerStates::update(const record::BatchView& batch) {
  if (!batch.has_producer_id()) return;
  ProducerState& state = states_[batch.producer_id()];
  state.producer_id = batch.producer_id();
  take_epoch(state, batch.producer_epoch());
  if (state.batches.size() == ProducerState::batches_kept) state.batches.erase(state.batches.begin());
  state.batches.push_back({batch.last_sequence(), batch.last_offset(), batch.last_offset_delta(), batch.max_timestamp()});
  state.last_timestamp = batch.max_timestamp();
  if (batch.is_transactional() && state.current_transaction_first_offset < 0) {
    state.current_transaction_first_offset = batch.base_offset();
    open_[batch.base_offset()] = batch.producer_id();
  }
}

std::optional<ProducerStates::Completed> ProducerStates::end_transaction(int64_t producer_id, int16_t epoch, const record::EndTransactionMarker& marker,
                                                                         int64_t offset, int64_t timestamp) {
  ProducerState& state = states_[producer_id];
  state.producer_id = producer_id;
  take_epoch(state, epoch);
  state.coordinator_epoch = marker.coordinator_epoch;
  state.last_timestamp = timestamp;
  const int64_t first = std::exchange(state.current_transaction_first_offset, -1);
  if (first < 0) return std::nullopt;
  open_.erase(first);
  ended_not_replicated_[first] = offset;
  return Completed{producer_id, first, offset, !marker.commit};
}

int64_t ProducerStates::last_stable_offset_after(const Completed& completed) const {
  return open_.empty() ? completed.last_offset + 1 : open_.begin()->first;
}

std::optional<int64_t> ProducerStates::first_undecided_offset() const {
  return open_.empty() ? std::nullopt : std::optional(open_.begin()->first);
}

std::optional<int64_t> ProducerStates::first_unstable_offset() const {
  const auto undecided = first_undecided_offset();
  if (ended_not_replicated_.empty()) return undecided;
  return std::min(ended_not_replicated_.begin()->first, undecided.value_or(INT64_MAX));
}

void ProducerStates::on_high_watermark(int64_t high_watermark) {
  std::erase_if(ended_not_replicated_, [high_watermark](const auto& ended) { return ended.second < high_watermark; });
}

void ProducerStates::on_log_start(int64_t log_start_offset) { on_high_watermark(log_start_offset); }

void ProducerStates::expire(int64_t now_ms, int64_t expiration_ms) {
  std::erase_if(states_, [&](const auto& entry) {
    return entry.second.current_transaction_first_offset < 0 && now_ms - entry.second.last_timestamp >= expiration_ms;
  });
  std::erase_if(without_history_, [&](int64_t id) { return !states_.contains(id); });
}

void ProducerStates::clear() {
  states_.clear();
  without_history_.clear();
  open_.clear();
  ended_not_replicated_.clear();
}

Bytes ProducerStates::encode_snapshot() const {
  Bytes bytes(entries_from + states_.size() * entry_size);
  store_big_endian<int16_t>(bytes.data(), snapshot_version);
  store_big_endian<int32_t>(bytes.data() + checked_from, static_cast<int32_t>(states_.size()));
  uint8_t* to = bytes.data() + entries_from;
  for (const auto& [id, state] : states_) {
    store_big_endian<int64_t>(to, id);
    store_big_endian<int16_t>(to + 8, state.epoch);
    store_big_endian<int32_t>(to + 10, state.last_sequence());
    store_big_endian<int64_t>(to + 14, state.last_offset());
    store_big_endian<int32_t>(to + 22, state.batches.empty() ? 0 : state.batches.back().offset_delta);
    store_big_endian<int64_t>(to + 26, state.last_timestamp);
    store_big_endian<int32_t>(to + 34, state.coordinator_epoch);
    store_big_endian<int64_t>(to + 38, state.current_transaction_first_offset);
    to += entry_size;
  }
  store_big_endian<uint32_t>(bytes.data() + 2, crc32c(BytesView(bytes).subspan(checked_from)));
  return bytes;
}

Result<void> ProducerStates::decode_snapshot(BytesView bytes, int64_t now_ms, int64_t expiration_ms) {
  if (bytes.size() < entries_from) return fail(ErrorCode::CORRUPT_MESSAGE, "{} bytes are too few for a producer snapshot", bytes.size());
  const int16_t version = load_big_endian<int16_t>(bytes.data());
  if (version != snapshot_version) return fail(ErrorCode::CORRUPT_MESSAGE, "a producer snapshot has version {}, only 1 is known", version);
  const uint32_t stored = load_big_endian<uint32_t>(bytes.data() + 2);
  const uint32_t computed = crc32c(bytes.subspan(checked_from));
  if (stored != computed) return fail(ErrorCode::CORRUPT_MESSAGE, "a producer snapshot has checksum {:08x}, computed {:08x}", stored, computed);
  const int32_t count = load_big_endian<int32_t>(bytes.data() + checked_from);
  if (count < 0 || bytes.size() - entries_from != static_cast<size_t>(count) * entry_size)
    return fail(ErrorCode::CORRUPT_MESSAGE, "a producer snapshot of {} bytes cannot hold {} producers", bytes.size(), count);
  clear();
  for (const uint8_t* from = bytes.data() + entries_from; from != bytes.data() + bytes.size(); from += entry_size) {
    ProducerState state;
    state.producer_id = load_big_endian<int64_t>(from);
    state.epoch = load_big_endian<int16_t>(from + 8);
    state.last_timestamp = load_big_endian<int64_t>(from + 26);
    state.coordinator_epoch = load_big_endian<int32_t>(from + 34);
    state.current_transaction_first_offset = load_big_endian<int64_t>(from + 38);
    const BatchMetadata last{load_big_endian<int32_t>(from + 10), load_big_endian<int64_t>(from + 14), load_big_endian<int32_t>(from + 22),
                             state.last_timestamp};
    if (last.last_offset >= 0) {
      state.batches.push_back(last);
      without_history_.insert(state.producer_id);
    }
    if (state.current_transaction_first_offset >= 0) open_[state.current_transaction_first_offset] = state.producer_id;
    states_[state.producer_id] = std::move(state);
  }
  expire(now_ms, expiration_ms);
  return {};
}

}  // namespace castellan::log

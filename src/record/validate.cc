// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "record/validate.h"

#include "record/builder.h"
#include "record/reader.h"

namespace castellan::record {
namespace {

// A batch of a megabyte can claim to hold a hundred thousand times that. Memory stays small whatever it claims, and this bounds
// the time; no real client comes near it.
constexpr int64_t decompressed_limit = int64_t{2} << 30;
// An answer lists every record that is wrong, up to this many: millions of them may fit into one small batch.
constexpr size_t errors_limit = 100'000;

struct Inspection {
  int64_t max_timestamp = no_timestamp;
  bool offsets_consecutive = true;
  std::vector<RecordError> errors;
  bool timestamp_error = false;
};

template <class... Args>
std::unexpected<ProduceFailure> refuse(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(ProduceFailure{{code, fmt::format(format, std::forward<Args>(args)...)}, {}});
}

std::unexpected<ProduceFailure> refuse(Error error, const ProduceRules& rules) {
  error.message += " in topic partition " + rules.topic_partition;
  return std::unexpected(ProduceFailure{std::move(error), {}});
}

// One batch, the only one, as the request may carry it (B109, B180 to B184).
std::expected<BatchView, ProduceFailure> check_shape(BytesView records, const ProduceRules& rules, bool from_client) {
  BatchScanner scanner(records);
  auto first = scanner.next();
  if (!first) return refuse(std::move(first).error(), rules);
  if (!*first) return refuse(ErrorCode::INVALID_RECORD, "Produce requests must have at least one record batch per partition, {} has none", rules.topic_partition);
  const BatchView batch = **first;
  if (batch.compression() == Compression::zstd && !rules.zstd_allowed)
    return refuse(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, "Produce requests before version 7 are not allowed to use ZStandard compression");
  auto second = scanner.next();  // a tail too short for a batch is ignored, as Kafka ignores it
  if (!second) return refuse(std::move(second).error(), rules);
  if (*second)
    return refuse(ErrorCode::INVALID_RECORD, "Produce requests are only allowed to contain exactly one record batch per partition, {} has more",
                  rules.topic_partition);

  if (from_client && batch.base_offset() != 0)
    return refuse(ErrorCode::INVALID_RECORD, "The base offset of the record batch in the append to {} should be 0, but it is {}", rules.topic_partition,
                  batch.base_offset());
  if (batch.size() > static_cast<uint32_t>(rules.max_message_bytes))
    return refuse(ErrorCode::MESSAGE_TOO_LARGE, "The record batch size in the append to {} is {} bytes which exceeds the maximum configured value of {}",
                  rules.topic_partition, batch.size(), rules.max_message_bytes);
  if (!batch.crc_valid())
    return refuse(ErrorCode::CORRUPT_MESSAGE, "Record is corrupt (stored crc = {}, computed crc = {}) in topic partition {}", batch.crc(),
                  batch.computed_crc(), rules.topic_partition);
  if (batch.codec_number() > static_cast<int>(Compression::zstd))
    return refuse(ErrorCode::CORRUPT_MESSAGE, "The codec number {} in the append to {} names no codec", batch.codec_number(), rules.topic_partition);
  if (!from_client) return batch;

  if (batch.last_offset_delta() < 0)
    return refuse(ErrorCode::INVALID_RECORD, "Batch has an invalid offset range: [{}, {}] in topic partition {}", batch.base_offset(), batch.last_offset(),
                  rules.topic_partition);
  if (batch.records_count() <= 0)
    return refuse(ErrorCode::INVALID_RECORD, "Invalid reported count for record batch: {} in topic partition {}", batch.records_count(), rules.topic_partition);
  if (static_cast<int64_t>(batch.last_offset_delta()) + 1 != batch.records_count())
    return refuse(ErrorCode::INVALID_RECORD, "Inconsistent batch offset range [{}, {}] and count of records {} in topic partition {}", batch.base_offset(),
                  batch.last_offset(), batch.records_count(), rules.topic_partition);
  if (batch.is_control())
    return refuse(ErrorCode::INVALID_RECORD, "Clients are not allowed to write control records in topic partition {}", rules.topic_partition);
  if (batch.has_producer_id() && batch.base_sequence() < 0)
    return refuse(ErrorCode::INVALID_RECORD, "Invalid sequence number {} in record batch with producer id {} in topic partition {}", batch.base_sequence(),
                  batch.producer_id(), rules.topic_partition);
  return batch;
}

void check_record(const BatchView& batch, const Record& record, int32_t index, const ProduceRules& rules, int64_t now, Inspection& inspection) {
  if (rules.compacted && record.key_size < 0) {
    inspection.errors.push_back({index, "Compacted topic cannot accept message without key in topic partition " + rules.topic_partition});
    return;
  }
  if (rules.timestamp_type == TimestampType::create_time && record.timestamp != no_timestamp) {
    // In 128 bits: a client's timestamp may be anything, and the differences must not wrap.
    const __int128 age = static_cast<__int128>(now) - record.timestamp;
    if (age > rules.timestamp_before_max_ms || -age > rules.timestamp_after_max_ms) {
      const auto clipped = [](__int128 value) { return static_cast<int64_t>(std::clamp<__int128>(value, INT64_MIN, INT64_MAX)); };
      inspection.timestamp_error = true;
      inspection.errors.push_back({index, fmt::format("Timestamp {} of message with offset {} is out of range. The timestamp should be within [{}, {}]",
                                                      record.timestamp, record.offset, clipped(static_cast<__int128>(now) - rules.timestamp_before_max_ms),
                                                      clipped(static_cast<__int128>(now) + rules.timestamp_after_max_ms))});
    }
  } else if (batch.timestamp_type() == TimestampType::log_append_time) {
    inspection.timestamp_error = true;
    inspection.errors.push_back({index, fmt::format("Invalid timestamp type in message with offset {}. Producer should not set timestamp type to LogAppendTime.",
                                                    record.offset)});
  }
}

// Walks all records; each good one goes into `builder` when there is one.
Result<Inspection> inspect(const BatchView& batch, const ProduceRules& rules, int64_t now, BatchBuilder* builder) {
  Inspection inspection;
  RecordReader reader(batch, builder ? Detail::whole : Detail::sizes);
  Record record;
  int64_t decompressed = 0;
  for (int32_t index = 0;; ++index) {
    TRY(const bool more, reader.next(record));
    if (!more) break;
    if (inspection.errors.size() >= errors_limit) return inspection;
    decompressed += std::max(record.key_size, 0) + int64_t{std::max(record.value_size, 0)} + 16;
    if (decompressed > decompressed_limit)
      return fail(ErrorCode::MESSAGE_TOO_LARGE, "the records are more than {} bytes when they are decompressed", decompressed_limit);
    check_record(batch, record, index, rules, now, inspection);
    inspection.max_timestamp = std::max(inspection.max_timestamp, record.timestamp);
    if (record.offset_delta != index) inspection.offsets_consecutive = false;
    if (builder && inspection.errors.empty()) builder->append_record(index, record);
  }
  TRY_VOID(reader.finish());
  return inspection;
}

std::unexpected<ProduceFailure> rejected(Inspection inspection) {
  ProduceFailure failure;
  if (inspection.timestamp_error) {
    failure.error = {ErrorCode::INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp"};
  } else {
    failure.error = {ErrorCode::INVALID_RECORD, fmt::format("One or more records have been rejected due to {} record errors in total, the first: {}",
                                                            inspection.errors.size(), inspection.errors.front().message)};
  }
  failure.record_errors = std::move(inspection.errors);
  return std::unexpected(std::move(failure));
}

BatchOptions rebuilt_options(const BatchView& batch, const ProduceRules& rules, Compression target, int64_t now) {
  BatchOptions options{.compression = target, .producer_id = batch.producer_id(), .producer_epoch = batch.producer_epoch(),
                       .base_sequence = batch.base_sequence(), .transactional = batch.is_transactional()};
  if (rules.timestamp_type == TimestampType::log_append_time) options.log_append_time = now;
  if (target == Compression::gzip) options.level = rules.gzip_level;
  if (target == Compression::lz4) options.level = rules.lz4_level;
  if (target == Compression::zstd) options.level = rules.zstd_level;
  return options;
}

}  // namespace

std::expected<ValidatedBatch, ProduceFailure> validate_produce(std::span<uint8_t> records, const ProduceRules& rules, WallTime now, bool from_client) {
  auto shape = check_shape(records, rules, from_client);
  if (!shape) return std::unexpected(std::move(shape).error());
  const BatchView batch = *shape;
  const Compression source = batch.compression();
  const Compression target = rules.compression.value_or(source);
  // A marker keeps its form: it is not compressed whatever the topic says.
  bool in_place = source == target || (source == Compression::none && batch.is_control());

  std::optional<BatchBuilder> builder;
  if (!in_place) builder.emplace(rebuilt_options(batch, rules, target, now.milliseconds));
  auto inspection = inspect(batch, rules, now.milliseconds, builder ? &*builder : nullptr);
  if (!inspection) return refuse(std::move(inspection).error(), rules);
  if (!inspection->errors.empty()) return rejected(std::move(*inspection));
  // Offsets with gaps or out of order inside a compressed batch: the records are counted anew. Uncompressed ones are taken as
  // they are, as Kafka takes them.
  if (in_place && source != Compression::none && !inspection->offsets_consecutive) {
    builder.emplace(rebuilt_options(batch, rules, target, now.milliseconds));
    auto again = inspect(batch, rules, now.milliseconds, &*builder);
    if (!again) return refuse(std::move(again).error(), rules);
    in_place = false;
  }

  const bool append_time = rules.timestamp_type == TimestampType::log_append_time;
  ValidatedBatch result;
  result.max_timestamp = append_time ? now.milliseconds : inspection->max_timestamp;
  result.log_append_time = append_time ? now.milliseconds : no_timestamp;
  if (in_place) {
    result.batch = records.first(batch.size());
    set_timestamps(result.batch, rules.timestamp_type, result.max_timestamp);
  } else {
    result.rebuilt = builder->finish();
    result.batch = result.rebuilt;
    if (result.rebuilt.size() > static_cast<uint32_t>(rules.max_message_bytes))
      return refuse(ErrorCode::MESSAGE_TOO_LARGE, "Message batch size is {} bytes in append to partition {} which exceeds the maximum configured size of {}",
                    result.rebuilt.size(), rules.topic_partition, rules.max_message_bytes);
  }
  if (result.batch.size() > static_cast<uint32_t>(rules.segment_bytes))
    return refuse(ErrorCode::RECORD_LIST_TOO_LARGE, "Message batch size is {} bytes in append to partition {}, which exceeds the maximum configured segment size of {}",
                  result.batch.size(), rules.topic_partition, rules.segment_bytes);
  return result;
}

}  // namespace castellan::record

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/fetch.h"

#include "broker/broker.h"
#include "broker/cold_reads.h"
#include "broker/partitions.h"

namespace castellan::broker {

namespace {

using PartitionData = wire::FetchResponse::PartitionData;

// Below this a copy into the answer is cheaper than a second call to the system.
constexpr uint32_t copy_below_bytes = 16 << 10;

PartitionData empty_answer(int32_t index) {
  PartitionData data;
  data.partition_index = index;
  data.high_watermark = -1;
  data.records = wire::Records::empty();
  return data;
}

// Of a partition that this broker has not found: Kafka says "no aborted transactions" there, null elsewhere.
PartitionData not_found(int32_t index, ErrorCode error) {
  auto data = empty_answer(index);
  data.error_code = static_cast<int16_t>(error);
  return data;
}

PartitionData refused(int32_t index, ErrorCode error) {
  auto data = not_found(index, error);
  data.aborted_transactions.reset();
  return data;
}

Result<wire::Records> records_of(const log::FetchData& data, const FetchLimits& limits, FetchResult& result) {
  if (!data.file || data.length == 0) return wire::Records::empty();
  if (data.length < copy_below_bytes || data.file->native_handle() < 0) {
    if (limits.may_block) {
      TRY(Bytes bytes, data.load());
      return wire::Records::of_bytes(std::move(bytes));
    }
    TRY(auto bytes, read_if_cached(*data.file, data.position, data.length));
    if (bytes) return wire::Records::of_bytes(std::move(*bytes));
    result.cold.push_back(data);
    return wire::Records::empty();
  }
  if (!limits.may_block && !is_cached(*data.file, data.position, data.length)) result.cold.push_back(data);
  return wire::Records::of_file({.owner = data.file, .fd = data.file->native_handle(), .position = data.position, .length = data.length});
}

ErrorCode check(Partition& partition, const FetchTarget& target, const FetchLimits& limits) {
  if (partition.offline()) return ErrorCode::KAFKA_STORAGE_ERROR;
  if (const auto error = partition.check_leader_epoch(target.leader_epoch); error != ErrorCode::NONE) return error;
  if (!partition.leads()) return ErrorCode::NOT_LEADER_OR_FOLLOWER;
  // A follower that the metadata does not know (yet) (B301).
  if (limits.replica_id >= 0 && !image::contains(partition.metadata().replicas, NodeId{limits.replica_id})) {
    return target.leader_epoch >= 0 ? ErrorCode::UNKNOWN_LEADER_EPOCH : ErrorCode::NOT_LEADER_OR_FOLLOWER;
  }
  return ErrorCode::NONE;
}

// Whether the reader's log parts from ours before the offset it asks for (B283, B285).
struct Divergence {
  ErrorCode error = ErrorCode::NONE;
  std::optional<Partition::EpochEnd> at;
};
Divergence find_divergence(const Partition& partition, const FetchTarget& target) {
  if (target.last_fetched_epoch < 0) return {};
  const auto end = partition.end_offset_for_epoch(target.last_fetched_epoch);
  if (end.epoch < 0) return {ErrorCode::OFFSET_OUT_OF_RANGE, {}};
  if (end.epoch < target.last_fetched_epoch || end.end_offset < target.offset) return {ErrorCode::NONE, end};
  return {};
}

PartitionData read_one(Broker& broker, const FetchTarget& target, const FetchLimits& limits, int64_t room, bool first, FetchResult& result) {
  if (target.topic.empty()) {
    result.at_once = true;
    return not_found(target.index, target.unknown_is);
  }
  const auto found = broker.partitions().find(target.topic, target.index);
  if (!found.partition) {
    result.at_once = true;
    return not_found(target.index, found.error);
  }
  Partition& partition = *found.partition;
  if (limits.version >= 13 && partition.id().topic != target.topic_id) {
    result.at_once = true;
    return not_found(target.index, ErrorCode::INCONSISTENT_TOPIC_ID);
  }
  const auto refuse = [&](ErrorCode error) {
    result.at_once = true;
    if (error == ErrorCode::KAFKA_STORAGE_ERROR && limits.version <= 5) error = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    auto data = refused(target.index, error);
    if (limits.version >= 16 && (error == ErrorCode::NOT_LEADER_OR_FOLLOWER || error == ErrorCode::FENCED_LEADER_EPOCH)) {
      data.current_leader.leader_id = partition.leader().value;
      data.current_leader.leader_epoch = partition.leader_epoch();
    }
    return data;
  };
  if (const auto error = check(partition, target, limits); error != ErrorCode::NONE) return refuse(error);
  log::Log& log = *partition.log();
  if (target.offset < log.log_start_offset() || target.offset > log.log_end_offset()) return refuse(ErrorCode::OFFSET_OUT_OF_RANGE);
  const auto divergence = find_divergence(partition, target);
  if (divergence.error != ErrorCode::NONE) return refuse(divergence.error);

  auto data = empty_answer(target.index);
  data.high_watermark = log.high_watermark();
  data.last_stable_offset = log.last_stable_offset();
  data.log_start_offset = log.log_start_offset();
  if (!limits.read_committed) data.aborted_transactions.reset();
  if (divergence.at) {
    result.at_once = true;
    data.aborted_transactions.reset();
    data.diverging_epoch.epoch = divergence.at->epoch;
    data.diverging_epoch.end_offset = divergence.at->end_offset;
    return data;
  }
  if (target.max_bytes < 0) return refuse(ErrorCode::INVALID_REQUEST);
  const int64_t limit = limits.replica_id >= 0     ? log.log_end_offset()
                        : limits.read_committed ? data.last_stable_offset
                                                : data.high_watermark;
  const auto most = static_cast<uint32_t>(std::min<int64_t>(target.max_bytes, room));
  auto read = log.read(target.offset, most, limit, first);
  if (!read) {
    if (read.error().code == ErrorCode::KAFKA_STORAGE_ERROR) broker.partitions().on_storage_error(partition, read.error());
    broker.note_damage(partition);
    broker.complain(fmt::format("{} cannot be read at {}: {}", partition.name(), target.offset, read.error().message));
    return refuse(read.error().code);
  }
  if (limits.read_committed && read->length > 0) {
    auto aborted = log.aborted_transactions(target.offset, *read);
    if (!aborted) return refuse(aborted.error().code);
    for (const auto& transaction : *aborted) {
      data.aborted_transactions->push_back({.producer_id = transaction.producer_id, .first_offset = transaction.first_offset});
    }
  }
  auto records = records_of(*read, limits, result);
  if (!records) return refuse(records.error().code);
  data.records = std::move(*records);
  result.bytes += read->length;
  return data;
}

}  // namespace

FetchResult read_targets(Broker& broker, const std::vector<FetchTarget>& targets, const FetchLimits& limits) {
  FetchResult result;
  result.partitions.reserve(targets.size());
  int64_t room = limits.max_bytes;
  for (const auto& target : targets) {
    const int64_t before = result.bytes;
    // The first records come whole however large they are, or a reader with small limits would stand still (KIP-74).
    result.partitions.push_back(read_one(broker, target, limits, room, result.bytes == 0, result));
    room = std::max<int64_t>(0, room - (result.bytes - before));
  }
  return result;
}

}  // namespace castellan::broker

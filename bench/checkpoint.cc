// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Writes a metadata snapshot of many partitions into the folder of a metadata log, for million.py: a formatted directory then looks
// as if its cluster had grown to that size.
//
//   bench_checkpoint FOLDER [PARTITIONS] [PARTITIONS PER TOPIC] [BROKERS]

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/prng.h"
#include "image/apply.h"
#include "image/snapshot.h"
#include "io/posix/posix_file_system.h"
#include "log/metadata_snapshot.h"
#include "record/builder.h"

using namespace castellan;
using namespace castellan::image;

namespace {

constexpr int64_t time_ms = 1'780'000'000'000;

template <class Sink>
void make_records(int32_t partitions, int32_t per_topic, int32_t brokers, Sink&& sink) {
  Prng random(1);
  wire::FeatureLevelRecord feature;
  feature.name = "metadata.version";
  feature.feature_level = 33;
  sink(MetadataRecord{.version = 0, .message = std::move(feature)});
  for (int32_t id = 0; id < brokers; ++id) {
    BrokerRegistration broker;
    broker.id = NodeId{1000 + id};
    broker.incarnation_id = IncarnationId{random.uuid()};
    broker.endpoints.push_back({.name = "PLAINTEXT", .host = "localhost", .port = 9092, .security_protocol = 0});
    broker.log_dirs.emplace_back(Uuid{1000, static_cast<uint64_t>(id) + 1000});
    sink(broker_record(broker, MetadataVersion::latest_production()));
  }
  // By id, as a snapshot of ours has them.
  std::vector<TopicId> topic_ids;
  for (int32_t i = 0; i < partitions; i += per_topic) topic_ids.emplace_back(random.uuid());
  std::ranges::sort(topic_ids);
  TopicId topic_id;
  for (int32_t i = 0; i < partitions; ++i) {
    if (i % per_topic == 0) {
      topic_id = topic_ids[static_cast<size_t>(i / per_topic)];
      wire::TopicRecord topic;
      topic.name = fmt::format("topic-{}", i / per_topic);
      topic.topic_id = topic_id.value;
      sink(MetadataRecord{.version = 0, .message = std::move(topic)});
    }
    PartitionState state;
    const auto first = static_cast<int32_t>(random.below(static_cast<uint64_t>(brokers)));
    for (int32_t replica = 0; replica < std::min(3, brokers); ++replica) {
      const int32_t broker = (first + replica) % brokers;
      state.replicas.emplace_back(1000 + broker);
      state.directories.emplace_back(Uuid{1000, static_cast<uint64_t>(broker) + 1000});
    }
    state.isr = state.replicas;
    state.leader = state.replicas[0];
    sink(partition_record({topic_id, i % per_topic}, state, MetadataVersion::latest_production(), false));
  }
}

Result<void> write(const std::string& folder, int32_t partitions, int32_t per_topic, int32_t brokers) {
  const auto files = io::make_posix_file_system();
  int64_t count = 0;
  make_records(partitions, per_topic, brokers, [&](const MetadataRecord&) { ++count; });
  const log::SnapshotId id{count, 1};
  TRY(const auto writer, log::SnapshotWriter::create(*files, folder, id));
  TRY_VOID(writer->append(log::snapshot_header_batch(id, time_ms, nullptr, nullptr, time_ms)));
  int64_t offset = 1;
  Result<void> written;
  auto builder = std::make_unique<record::BatchBuilder>(record::BatchOptions{.base_offset = offset, .leader_epoch = 1});
  const auto flush = [&] {
    if (builder->empty() || !written) return;
    offset += builder->records_count();
    written = writer->append(builder->finish());
    builder = std::make_unique<record::BatchBuilder>(record::BatchOptions{.base_offset = offset, .leader_epoch = 1});
  };
  make_records(partitions, per_topic, brokers, [&](const MetadataRecord& record) {
    builder->append(time_ms, std::nullopt, encode_metadata_record(record));
    if (builder->records_count() >= 1024) flush();
  });
  flush();
  TRY_VOID(written);
  TRY_VOID(writer->append(log::snapshot_footer_batch(id, offset, time_ms)));
  TRY_VOID(writer->freeze());
  std::printf("%s\n", log::snapshot_path(folder, id).c_str());
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fputs("usage: bench_checkpoint FOLDER [PARTITIONS] [PARTITIONS PER TOPIC] [BROKERS]\n", stderr);
    return 2;
  }
  const auto number = [&](int at, int32_t otherwise) { return count > at ? std::atoi(arguments[at]) : otherwise; };
  if (auto written = write(arguments[1], number(2, 1'000'000), number(3, 100), number(4, 100)); !written) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 1;
  }
  return 0;
}

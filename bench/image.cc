// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// How long a million partitions take to load into the image, how much memory they are, and what one change costs then.
// The budget (ARCHITECTURE): under one second, under 250 MB, a few microseconds.
//
//   bench_image [PARTITIONS] [PARTITIONS PER TOPIC] [BROKERS]

#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/prng.h"
#include "image/apply.h"
#include "image/snapshot.h"

using namespace castellan;
using namespace castellan::image;

namespace {

// CPU time: a busy machine must not count.
std::chrono::nanoseconds cpu() { return std::chrono::nanoseconds(std::clock() * (1000000000ll / CLOCKS_PER_SEC)); }

double seconds_since(std::chrono::nanoseconds begun) {
  return std::chrono::duration<double>(cpu() - begun).count();
}

double megabytes_in_use() { return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd) / 1e6; }

Image must_load(const std::vector<Bytes>& records) {
  Image image;
  for (const Bytes& value : records) {
    const auto applied = apply(image, *decode_metadata_record(value), Offset{1});
    CHECK(applied.has_value(), "{}", applied.error().message);
  }
  return image;
}

}  // namespace

int main(int count, char** arguments) {
  const int32_t partitions = count > 1 ? std::atoi(arguments[1]) : 1'000'000;
  const int32_t per_topic = count > 2 ? std::atoi(arguments[2]) : 100;
  const int32_t brokers = count > 3 ? std::atoi(arguments[3]) : 100;
  Prng random(1);
  std::vector<Bytes> records;
  const auto put = [&](auto message, int16_t version) { records.push_back(encode_metadata_record({.version = version, .message = std::move(message)})); };
  wire::FeatureLevelRecord feature;
  feature.name = "metadata.version";
  feature.feature_level = 33;
  put(feature, 0);
  TopicId topic_id;
  for (int32_t i = 0; i < partitions; ++i) {
    if (i % per_topic == 0) {
      topic_id = TopicId(random.uuid());
      wire::TopicRecord topic;
      topic.name = fmt::format("topic-{}", i / per_topic);
      topic.topic_id = topic_id.value;
      put(topic, 0);
    }
    PartitionState state;
    const auto first = static_cast<int32_t>(random.below(static_cast<uint64_t>(brokers)));
    for (int32_t replica = 0; replica < 3; ++replica) {
      const int32_t broker = (first + replica * 7) % brokers;
      state.replicas.emplace_back(broker);
      state.directories.emplace_back(Uuid{1000, static_cast<uint64_t>(broker) + 1000});
    }
    state.isr = state.replicas;
    state.leader = state.replicas[0];
    MetadataRecord record = partition_record({topic_id, i % per_topic}, state, MetadataVersion::latest_production(), false);
    records.push_back(encode_metadata_record(record));
  }

  const double before = megabytes_in_use();
  auto begun = cpu();
  Image as_it_came = must_load(records);
  std::printf("load, topics in the order of their creation: %.2f s, %.0f MB\n", seconds_since(begun), megabytes_in_use() - before);

  begun = cpu();
  std::vector<Bytes> snapshot;
  snapshot.reserve(records.size());
  snapshot_records(as_it_came, [&](const MetadataRecord& record) { snapshot.push_back(encode_metadata_record(record)); });
  std::printf("write a snapshot: %.2f s\n", seconds_since(begun));
  records.clear();
  as_it_came = Image{};
  const double without = megabytes_in_use();
  begun = cpu();
  Image image = must_load(snapshot);
  const double load = seconds_since(begun);
  begun = cpu();
  for (const Bytes& value : snapshot) CHECK(decode_metadata_record(value).has_value());
  std::printf("decode that snapshot alone: %.2f s\n", seconds_since(begun));
  std::printf("load that snapshot: %.2f s, %.0f MB\n", load, megabytes_in_use() - without);

  // One change at a time, each followed by a publication (a copy that somebody holds).
  constexpr int changes = 100'000;
  Image published = image;
  begun = cpu();
  const std::vector<Bytes>& source = snapshot;
  for (int i = 0; i < changes; ++i) {
    const auto decoded = decode_metadata_record(source[1 + random.below(source.size() - 1)]);
    const auto* partition = std::get_if<wire::PartitionRecord>(&decoded->message);
    if (partition == nullptr) continue;
    wire::PartitionChangeRecord change;
    change.topic_id = partition->topic_id;
    change.partition_id = partition->partition_id;
    change.isr.emplace({partition->replicas[0]});
    CHECK(apply(image, {.version = 2, .message = std::move(change)}, Offset{i}).has_value());
    published = image;
  }
  std::printf("one change and publication: %.2f us\n", seconds_since(begun) * 1e6 / changes);

  published = image;
  wire::PartitionChangeRecord last;
  last.topic_id = topic_id.value;
  last.partition_id = 0;
  last.leader = 1;
  CHECK(apply(image, {.version = 2, .message = last}, Offset{1}).has_value());
  begun = cpu();
  int changed = 0;
  diff_partitions(published.topics, image.topics, [&](const auto&...) { ++changed; });
  std::printf("find the one partition that changed: %.1f us (%d)\n", seconds_since(begun) * 1e6, changed);
}

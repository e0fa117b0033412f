// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A batch from a client: whatever bytes they are, the leader's checks answer, and what they let pass reads as they said. The checksum is
// put right first, else nothing would get behind it.

#include "base/check.h"
#include "record/reader.h"
#include "record/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  using namespace castellan::record;
  if (size == 0) return 0;
  const uint8_t choice = data[0];
  Bytes bytes(data + 1, data + size);
  if (bytes.size() >= batch_header_size) {
    if (choice & 1) store_big_endian<int32_t>(bytes.data() + header::length, static_cast<int32_t>(bytes.size() - batch_prefix_size));
    bytes[header::magic] = current_magic;
    set_crc(bytes);
  }
  ProduceRules rules{.compacted = (choice & 2) != 0};
  if (choice & 4) rules.timestamp_type = TimestampType::log_append_time;
  if (choice & 8) rules.compression = static_cast<Compression>(choice >> 4 & 3);
  const auto result = validate_produce(bytes, rules, WallTime{1'700'000'000'000});
  if (!result) return 0;
  const auto batch = check_batch(result->batch);
  CHECK(batch.has_value(), "{}", batch.error().message);
  RecordReader reader(*batch);
  Record record;
  int32_t count = 0;
  for (;;) {
    const auto more = reader.next(record);
    if (!more) {
      CHECK(more.error().code == ErrorCode::MESSAGE_TOO_LARGE, "{}", more.error().message);
      return 0;
    }
    if (!*more) break;
    ++count;
    CHECK(record.headers().size() == static_cast<size_t>(record.header_count));
    CHECK(!rules.compacted || record.key);
  }
  CHECK(reader.finish().has_value());
  CHECK(count == batch->records_count());
  return 0;
}

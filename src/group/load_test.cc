// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What Apache Kafka has written must be understood after a load: real files, and one with every record at every version.

#include <fstream>
#include <iterator>

#include "group/harness.h"
#include "record/control.h"
#include "record/reader.h"

namespace castellan::group {
namespace {

using testing::Harness;

Bytes read_golden(const std::string& path) {
  std::ifstream file(CASTELLAN_SOURCE_DIR "/test/golden/" + path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// Loads a segment as the broker does; answers how many records there were. `refused` gets the offsets that cannot be read.
int load_segment(Harness& h, BytesView bytes, std::vector<int64_t>* refused = nullptr) {
  int count = 0;
  record::BatchScanner scanner(bytes);
  for (;;) {
    const auto batch = scanner.next();
    EXPECT_TRUE(batch.has_value());
    if (!batch || !*batch) break;
    record::RecordReader reader(**batch);
    record::Record record;
    while (reader.next(record).value_or(false)) {
      ++count;
      if ((*batch)->is_control()) {
        const auto marker = record::parse_end_transaction_marker(record);
        EXPECT_TRUE(marker.has_value());
        if (marker) h.shard.load_marker((*batch)->producer_id(), marker->commit);
        continue;
      }
      Shard::LoadedRecord loaded;
      loaded.offset = record.offset;
      loaded.producer_id = (*batch)->is_transactional() ? (*batch)->producer_id() : -1;
      loaded.key = *record.key;
      loaded.value = record.value;
      const auto result = h.shard.load(loaded, h.now.wall);
      if (refused && !result) refused->push_back(record.offset);
      else EXPECT_TRUE(result.has_value()) << "record " << record.offset << ": " << (result ? "" : result.error().message);
    }
  }
  h.finish_loading();
  return count;
}

std::string listed(Harness& h) {
  std::string all;
  for (const auto& group : h.reply<wire::ListGroupsResponse>(h.send(wire::ListGroupsRequest{}, 5)).groups)
    all += group.group_id + " " + group.group_type + " " + group.protocol_type + " " + group.group_state + "\n";
  return all;
}

TEST(Load, RealDirectoryWithClassicStaticConsumerAndTransactionalGroups) {
  Harness h;
  load_segment(h, read_golden("real/broker/__consumer_offsets-0/00000000000000000000.log"));
  EXPECT_EQ(listed(h),
            "g-consumer consumer consumer Empty\n"
            "g-lone classic  Empty\n"
            "g-static classic consumer Empty\n"
            "g-txn classic consumer Empty\n");
  const auto& offsets = h.shard.state().offsets();
  const auto offset = [&](const char* group, const char* topic, int32_t partition) {
    const OffsetAndMetadata* value = offsets.find({group, topic, partition});
    return value ? value->offset : -1;
  };
  EXPECT_EQ(offset("g-txn", "t-none", 0), 5);  // 1 committed, 3 aborted, 5 committed
  EXPECT_EQ(offset("g-classic", "t-none", 0), -1);  // deleted
  EXPECT_EQ(offset("g-static", "t-none", 0), 2);
  EXPECT_EQ(offset("g-consumer", "t-none", 0), 2);
  EXPECT_EQ(offset("g-lone", "t-two", 0), 0);
  EXPECT_EQ(offset("g-lone", "t-two", 1), -1);  // deleted
  EXPECT_TRUE(offsets.pending().empty());
}

TEST(Load, RealDirectoryWithShareAndStreamsGroups) {
  Harness h;
  EXPECT_EQ(load_segment(h, read_golden("real/broker/__consumer_offsets-1/00000000000000000000.log")), 47);
  EXPECT_EQ(listed(h), "g-share share share Empty\n");
}

TEST(Load, EveryRecordAtEveryVersionIsRead) {
  Harness h;
  std::vector<int64_t> refused;
  EXPECT_EQ(load_segment(h, read_golden("made/offsets-every-record/00000000000000000000.log"), &refused), 183);
  EXPECT_EQ(refused, (std::vector<int64_t>{75, 79, 181, 182}));  // Apache Kafka's dump tool refuses the same four
  EXPECT_EQ(listed(h),
            " streams streams NotReady\n"
            "GroupId-\u00e90 streams streams NotReady\n"
            "group-\u00e90 classic protocolType-\u00e90 Stable\n");
}

// --- a group of another protocol, made by hand

Record made(RecordType type, const std::vector<std::string>& key, std::optional<Bytes> value) {
  Record record;
  const auto put16 = [&](int16_t number) {
    record.key.push_back(static_cast<uint8_t>(number >> 8));
    record.key.push_back(static_cast<uint8_t>(number));
  };
  put16(static_cast<int16_t>(type));
  for (const std::string& part : key) {
    put16(static_cast<int16_t>(part.size()));
    record.key.insert(record.key.end(), part.begin(), part.end());
  }
  record.value = std::move(value);
  return record;
}

void load(Harness& h, const Record& record) {
  Shard::LoadedRecord loaded;
  loaded.key = record.key;
  if (record.value) loaded.value = *record.value;
  const auto result = h.shard.load(loaded, h.now.wall);
  ASSERT_TRUE(result.has_value()) << result.error().message;
}

constexpr uint8_t no_tags = 0;

// A consumer group in epoch 5 with member m, subscribed to "t", at that epoch.
void load_consumer_group(Harness& h, bool with_member = true) {
  load(h, made(RecordType::CONSUMER_GROUP_METADATA, {"c"}, Bytes{0, 0, 0, 0, 0, 5, no_tags}));
  load(h, made(RecordType::CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, {"c"}, Bytes{0, 0, 0, 0, 0, 5, no_tags}));
  if (!with_member) return;
  load(h, made(RecordType::CONSUMER_GROUP_MEMBER_METADATA, {"c", "m"},
               Bytes{0, 0, 0, 0, 1, 1, 2, 2, 't', 0, 0, 0, 0, 9, 0, 1, 0, 1, 0}));  // the tag: no classic member
  load(h, made(RecordType::CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, {"c", "m"},
               Bytes{0, 0, 0, 0, 0, 5, 0, 0, 0, 4, 0, 1, 1, no_tags}));
}

TEST(OtherGroup, WithMembersRefusesAClassicJoin) {
  Harness h(Harness::without_delay());
  load_consumer_group(h);
  h.finish_loading();
  EXPECT_EQ(listed(h), "c consumer consumer Stable\n");
  EXPECT_EQ(Harness::error(h.reply<wire::JoinGroupResponse>(h.send(h.join_request("c"), 9)).error_code), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(h.heartbeat("c", "m", 5), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(Harness::error(h.leave("c", "m").members.at(0).error_code), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(Harness::error(h.describe("c").error_code), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(h.describe("c", 5).group_state, "Dead");
  EXPECT_EQ(h.delete_group("c"), ErrorCode::NON_EMPTY_GROUP);
  EXPECT_TRUE(h.log.empty());
}

TEST(OtherGroup, OffsetsAreCommittedByItsMembersAlone) {
  Harness h;
  load_consumer_group(h);
  EXPECT_EQ(h.commit_offset("c", "m", 5, 1, 9), ErrorCode::NONE);
  EXPECT_EQ(h.commit_offset("c", "m", 5, 1, 8), ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(h.commit_offset("c", "m", 6, 1, 9), ErrorCode::STALE_MEMBER_EPOCH);
  EXPECT_EQ(h.commit_offset("c", "x", 5, 1, 9), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(h.commit_offset("c", "", -1, 1, 9), ErrorCode::UNKNOWN_MEMBER_ID);
  OffsetFetch fetch;
  fetch.group.group_id = "c";
  fetch.group.topics.reset();
  const auto code = [&](std::optional<std::string> member, int32_t epoch) {
    fetch.group.member_id = std::move(member);
    fetch.group.member_epoch = epoch;
    return Harness::error(h.reply<wire::OffsetFetchResponse::OffsetFetchResponseGroup>(h.send(fetch, 9)).error_code);
  };
  EXPECT_EQ(code("m", 5), ErrorCode::NONE);
  EXPECT_EQ(code("m", 4), ErrorCode::STALE_MEMBER_EPOCH);
  EXPECT_EQ(code("x", 5), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(code(std::nullopt, -1), ErrorCode::NONE);
}

TEST(OtherGroup, EmptyOneBecomesClassicAndItsRecordsGo) {
  Harness h(Harness::without_delay());
  load_consumer_group(h, false);
  h.finish_loading();
  const auto joining = h.begin_join("c");
  EXPECT_EQ(h.reply<wire::JoinGroupResponse>(joining.token).error_code, 0);
  ASSERT_EQ(h.log.size(), 3u);
  EXPECT_FALSE(h.log[0].value || h.log[1].value);
  EXPECT_EQ(h.log[1].key[1], 3);  // the group's own record goes last
  EXPECT_EQ(listed(h), "c classic consumer CompletingRebalance\n");
}

TEST(OtherGroup, EmptyOneCanBeDeleted) {
  Harness h;
  load_consumer_group(h, false);
  h.finish_loading();
  h.commit_offset("c", "", -1, 1);
  EXPECT_EQ(h.delete_group("c"), ErrorCode::NONE);
  EXPECT_EQ(listed(h), "");
  EXPECT_TRUE(h.shard.state().offsets().all().empty());
}

TEST(OtherGroup, ShareGroupStaysAShareGroup) {
  Harness h(Harness::without_delay());
  load(h, made(RecordType::SHARE_GROUP_METADATA, {"s"}, Bytes{0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, no_tags}));
  h.finish_loading();
  EXPECT_EQ(Harness::error(h.reply<wire::JoinGroupResponse>(h.send(h.join_request("s"), 9)).error_code), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(h.commit_offset("s", "", -1, 1), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(h.delete_group("s"), ErrorCode::NONE);
}

TEST(OtherGroup, MembersThatCannotHeartbeatGoWhenTheirSessionHasRunOut) {
  Harness h(Harness::without_delay());
  load_consumer_group(h);
  h.finish_loading();
  EXPECT_EQ(h.commit_offset("c", "m", 5, 7, 9), ErrorCode::NONE);
  h.advance(44'999);
  EXPECT_EQ(listed(h), "c consumer consumer Stable\n");
  const size_t before = h.log.size();
  h.advance(1);
  EXPECT_EQ(listed(h), "c consumer consumer Empty\n");
  ASSERT_EQ(h.log.size(), before + 2);
  EXPECT_FALSE(h.log[before].value || h.log[before + 1].value);
  EXPECT_EQ(h.log[before].key[1], 8) << "the current assignment goes first";
  EXPECT_EQ(h.log[before + 1].key[1], 5);
  EXPECT_EQ(h.fetch_offset("c"), 7) << "the offsets stay";
  h.advance(60'000);
  EXPECT_EQ(h.log.size(), before + 2) << "once";
  EXPECT_EQ(h.reply<wire::JoinGroupResponse>(h.begin_join("c").token).error_code, 0) << "the classic protocol may go on where it was";
}

TEST(OtherGroup, ItsMembersAreThereAgainWhenTheirRemovalCouldNotBeWritten) {
  Harness h;
  load_consumer_group(h);
  h.finish_loading();
  h.appends_at_once = false;
  h.advance(45'000);
  EXPECT_EQ(h.appends.size(), 1u);
  h.fail_next(ErrorCode::NOT_LEADER_OR_FOLLOWER);
  h.perform();
  EXPECT_EQ(listed(h), "c consumer consumer Stable\n");
  h.appends_at_once = true;
  h.advance(45'000);
  EXPECT_EQ(listed(h), "c consumer consumer Empty\n");
}

TEST(OtherGroup, OffsetsPastTheirRetentionGoAndThenTheGroup) {
  Harness h;
  load_consumer_group(h, false);
  h.finish_loading();
  h.commit_offset("c", "", -1, 1);
  h.advance(6 * 24 * 3'600'000ll);
  EXPECT_EQ(h.fetch_offset("c"), 1);
  h.advance(2 * 24 * 3'600'000ll);
  EXPECT_EQ(listed(h), "");
  EXPECT_TRUE(h.shard.state().offsets().all().empty());
}

TEST(Load, RecordThatCannotBeReadIsAnErrorAndAnUnknownTypeIsNone) {
  Harness h;
  const auto result = [&](const Record& record) {
    Shard::LoadedRecord loaded;
    loaded.key = record.key;
    if (record.value) loaded.value = *record.value;
    return h.shard.load(loaded, h.now.wall).has_value();
  };
  EXPECT_TRUE(result(made(static_cast<RecordType>(99), {"?"}, Bytes{1, 2, 3})));
  EXPECT_TRUE(result(made(static_cast<RecordType>(9), {"?"}, std::nullopt)));
  EXPECT_FALSE(result(Record{}));
  EXPECT_FALSE(result(made(RecordType::GROUP_METADATA, {}, std::nullopt)));
  EXPECT_FALSE(result(made(RecordType::GROUP_METADATA, {"g", "more"}, std::nullopt)));
  EXPECT_FALSE(result(made(RecordType::GROUP_METADATA, {"g"}, Bytes{0})));
  EXPECT_FALSE(result(made(RecordType::GROUP_METADATA, {"g"}, Bytes{0, 99, 1})));
  EXPECT_FALSE(result(made(RecordType::OFFSET_COMMIT, {"g", "t"}, std::nullopt)));
  EXPECT_FALSE(result(made(RecordType::CONSUMER_GROUP_METADATA, {"g"}, Bytes{0, 0, 1})));
}

TEST(Load, GroupOfADirectoryWithoutLeaderOrProtocolCanGoOn) {
  // Version 0 of the value: one member, no rebalance timeout, neither protocol nor leader.
  Harness h(Harness::without_delay());
  Bytes bytes{0, 0};
  const auto text = [&](const std::string& s) {
    bytes.push_back(0);
    bytes.push_back(static_cast<uint8_t>(s.size()));
    bytes.insert(bytes.end(), s.begin(), s.end());
  };
  text("consumer");
  bytes.insert(bytes.end(), {0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1});
  text("m");
  text("client");
  text("/host");
  bytes.insert(bytes.end(), {0, 0, 0x75, 0x30, 0, 0, 0, 0, 0, 0, 0, 0});
  load(h, made(RecordType::GROUP_METADATA, {"g"}, bytes));
  h.finish_loading();
  EXPECT_EQ(h.heartbeat("g", "m", 3), ErrorCode::NONE);
  auto request = h.join_request("g", "m");
  request.protocols.push_back(Harness::protocol("", ""));
  EXPECT_EQ(h.reply<wire::JoinGroupResponse>(h.send(request, 9)).generation_id, 4);
}

}  // namespace
}  // namespace castellan::group

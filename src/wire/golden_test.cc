// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Every message in every version against the bytes and the JSON that Apache Kafka's own classes wrote
// (test/golden/wire), and against damage to those bytes.

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/prng.h"
#include "wire/codec.h"
#include "wire/json.h"

namespace castellan::wire {
namespace {

struct Vector {
  const MessageInfo* info;
  int16_t version;
  std::string name;
  Bytes bytes;
  std::string json;
};

Bytes from_hex(std::string_view text) {
  const auto digit = [](char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
  return bytes;
}

const std::vector<Vector>& vectors() {
  static const auto all = [] {
    std::vector<Vector> result;
    std::ifstream in(CASTELLAN_SOURCE_DIR "/test/golden/wire/messages.tsv");
    for (std::string line; std::getline(in, line);) {
      std::vector<std::string> columns;
      for (size_t at = 0; at <= line.size();) {
        const size_t end = std::min(line.find('\t', at), line.size());
        columns.push_back(line.substr(at, end - at));
        at = end + 1;
      }
      if (columns.size() != 5) continue;
      result.push_back({find_message(columns[0]), static_cast<int16_t>(std::stoi(columns[1])),
                        fmt::format("{} version {} {}", columns[0], columns[1], columns[2]), from_hex(columns[3]), columns[4]});
    }
    return result;
  }();
  return all;
}

struct Decoded {
  std::shared_ptr<void> message;
  Result<void> result;
  size_t left;
};

Decoded decode(const Vector& vector, BytesView bytes, DecodeMode mode) {
  Decoded decoded{vector.info->create(), {}, 0};
  Reader reader(bytes, mode);
  decoded.result = decode_message(*vector.info, decoded.message.get(), vector.version, reader);
  decoded.left = reader.remaining();
  return decoded;
}

TEST(Golden, the_file_has_every_message_in_every_version) {
  std::set<std::pair<std::string_view, int16_t>> there;
  for (const auto& vector : vectors()) {
    ASSERT_NE(vector.info, nullptr) << vector.name;
    there.emplace(vector.info->name, vector.version);
  }
  for (const MessageInfo* info : all_messages())
    for (int16_t version = info->valid.first; version <= info->valid.last; ++version)
      EXPECT_TRUE(there.contains({info->name, version})) << info->name << " version " << version;
}

TEST(Golden, what_kafka_writes_is_read_and_written_back_to_the_byte) {
  for (const auto& vector : vectors()) {
    const auto decoded = decode(vector, vector.bytes, DecodeMode::STRICT);
    ASSERT_TRUE(decoded.result) << vector.name << ": " << decoded.result.error().message;
    EXPECT_EQ(decoded.left, 0u) << vector.name;
    Writer writer;
    const auto encoded = encode_message(*vector.info, decoded.message.get(), vector.version, writer);
    ASSERT_TRUE(encoded) << vector.name << ": " << encoded.error().message;
    EXPECT_EQ(writer.size(), *encoded_size_of(*vector.info, decoded.message.get(), vector.version)) << vector.name;
    EXPECT_EQ(to_hex(writer.take_bytes(), 100000), to_hex(vector.bytes, 100000)) << vector.name;
  }
}

TEST(Golden, json_is_what_kafka_prints) {
  for (const auto& vector : vectors()) {
    const auto decoded = decode(vector, vector.bytes, DecodeMode::STRICT);
    const auto json = message_to_json(*vector.info, decoded.message.get(), vector.version);
    ASSERT_TRUE(json) << vector.name << ": " << json.error().message;
    EXPECT_EQ(json->dump(), vector.json) << vector.name;
  }
}

TEST(Golden, json_reads_back) {
  for (const auto& vector : vectors()) {
    auto message = vector.info->create();
    const auto read = message_from_json(*vector.info, nlohmann::ordered_json::parse(vector.json), vector.version, message.get());
    ASSERT_TRUE(read) << vector.name << ": " << read.error().message;
    const auto json = message_to_json(*vector.info, message.get(), vector.version);
    ASSERT_TRUE(json) << vector.name << ": " << json.error().message;
    EXPECT_EQ(json->dump(), vector.json) << vector.name;
  }
}

// Whatever comes out, if it decodes it can be used: it is encoded again (which may fail, but not crash).
void survives(const Vector& vector, BytesView bytes) {
  for (const auto mode : {DecodeMode::LENIENT, DecodeMode::STRICT}) {
    const auto decoded = decode(vector, bytes, mode);
    if (!decoded.result) {
      EXPECT_FALSE(decoded.result.error().message.empty());
      continue;
    }
    Writer writer;
    (void)encode_message(*vector.info, decoded.message.get(), vector.version, writer);
  }
}

TEST(Golden, every_cut_is_an_error) {
  for (const auto& vector : vectors()) {
    for (size_t size = 0; size < vector.bytes.size(); ++size) {
      const BytesView cut = BytesView(vector.bytes).first(size);
      EXPECT_FALSE(decode(vector, cut, DecodeMode::LENIENT).result) << vector.name << " cut to " << size;
      EXPECT_FALSE(decode(vector, cut, DecodeMode::STRICT).result) << vector.name << " cut to " << size;
    }
  }
}

TEST(Golden, every_byte_may_be_anything) {
  Prng random(1);
  for (const auto& vector : vectors()) {
    Bytes bytes = vector.bytes;
    for (auto& byte : bytes) {
      const uint8_t was = byte;
      for (const uint8_t value : {static_cast<uint8_t>(was ^ 0x80), static_cast<uint8_t>(0xff), static_cast<uint8_t>(0), static_cast<uint8_t>(random.next())}) {
        byte = value;
        survives(vector, bytes);
      }
      byte = was;
    }
  }
}

}  // namespace
}  // namespace castellan::wire

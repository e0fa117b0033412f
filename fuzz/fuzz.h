// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the fuzz targets for messages share. The first bytes of an input choose the message and the version, so that the
// fuzzer can reach all of them; the rest is what is decoded. What decodes is encoded again, and what that gives must
// decode and encode to the same bytes.

#pragma once

#include "base/check.h"
#include "wire/codec.h"
#include "wire/json.h"

namespace castellan::fuzz {

inline void decode_and_back(const wire::MessageInfo& info, int16_t version, BytesView bytes, wire::DecodeMode mode) {
  auto message = info.create();
  wire::Reader reader(bytes, mode);
  if (!wire::decode_message(info, message.get(), version, reader)) return;
  wire::Writer writer;
  if (!wire::encode_message(info, message.get(), version, writer)) return;   // replaced UTF-8 may be too long for a string
  const Bytes once = writer.take_bytes();
  auto size = wire::encoded_size_of(info, message.get(), version);
  CHECK(size && *size == once.size());
  // Strict decoding loses nothing but what says nothing: a true that is not 1, a tagged field that holds its default.
  if (mode == wire::DecodeMode::STRICT) CHECK(once.size() <= reader.position(), "{} version {} grew", info.name, version);

  auto again = info.create();
  wire::Reader second(once, mode);
  const auto result = wire::decode_message(info, again.get(), version, second);
  CHECK(result || mode == wire::DecodeMode::LENIENT, "{}", result ? "" : result.error().message);
  if (!result) return;
  wire::Writer back;
  CHECK(wire::encode_message(info, again.get(), version, back));
  CHECK(back.take_bytes() == once, "{} version {} does not settle", info.name, version);
}

// One of the messages that `wanted` picks, in a valid version: by the first three bytes.
template <class Wanted>
int run(const uint8_t* data, size_t size, wire::DecodeMode mode, Wanted wanted) {
  static const auto messages = [&] {
    std::vector<const wire::MessageInfo*> picked;
    for (const auto* info : wire::all_messages())
      if (wanted(*info)) picked.push_back(info);
    return picked;
  }();
  if (size < 3) return 0;
  const auto& info = *messages[load_big_endian<uint16_t>(data) % messages.size()];
  const auto version = static_cast<int16_t>(info.valid.first + data[2] % (info.valid.last - info.valid.first + 1));
  decode_and_back(info, version, BytesView(data, size).subspan(3), mode);
  return 0;
}

}  // namespace castellan::fuzz

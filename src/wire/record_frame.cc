// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/record_frame.h"

namespace castellan::wire {
namespace {

constexpr uint32_t frame_version = 1;

struct Alternative {
  const MessageInfo* info;
  void* (*emplace)(AnyMetadataRecord&);
};

template <size_t... Index>
constexpr auto make_alternatives(std::index_sequence<Index...>) {
  return std::array{Alternative{&std::variant_alternative_t<Index, AnyMetadataRecord>::info(),
                                [](AnyMetadataRecord& record) -> void* { return &record.emplace<Index>(); }}...};
}

const auto& alternatives() {
  static const auto all = make_alternatives(std::make_index_sequence<std::variant_size_v<AnyMetadataRecord>>());
  return all;
}

}  // namespace

const MessageInfo& info_of(const AnyMetadataRecord& record) { return *alternatives()[record.index()].info; }
MetadataRecordType type_of(const AnyMetadataRecord& record) { return static_cast<MetadataRecordType>(info_of(record).key); }
const void* address_of(const AnyMetadataRecord& record) {
  return std::visit([](const auto& each) -> const void* { return &each; }, record);
}

Result<void> encode_metadata_record(const MessageInfo& info, const void* record, int16_t version, Writer& writer) {
  writer.put_varint(frame_version);
  writer.put_varint(static_cast<uint32_t>(info.key));
  writer.put_varint(static_cast<uint32_t>(version));
  return encode_message(info, record, version, writer);
}

Result<Bytes> encode_metadata_record(const AnyMetadataRecord& record, int16_t version) {
  Writer writer(128);
  TRY_VOID(encode_metadata_record(info_of(record), address_of(record), version, writer));
  return writer.take_bytes();
}

Result<MetadataRecordHead> read_metadata_record_head(Reader& reader) {
  MetadataRecordHead head;
  if (!reader.get_varint(head.frame_version) || !reader.get_varint(head.type) || !reader.get_varint(head.version))
    return fail(ErrorCode::INVALID_REQUEST, "a metadata record that ends within its frame");
  return head;
}

Result<DecodedMetadataRecord> decode_metadata_record(BytesView value) {
  DecodedMetadataRecord decoded;
  TRY(decoded.version, decode_metadata_record(value, decoded.record));
  return decoded;
}

Result<int16_t> decode_metadata_record(BytesView value, AnyMetadataRecord& record) {
  Reader reader(value, DecodeMode::STRICT);
  TRY(const auto head, read_metadata_record_head(reader));
  if (head.frame_version != frame_version)
    return fail(ErrorCode::UNSUPPORTED_VERSION, "a metadata record has frame version {}; only 1 is known", head.frame_version);
  for (const auto& alternative : alternatives()) {
    if (static_cast<uint32_t>(alternative.info->key) != head.type) continue;
    if (head.version > INT16_MAX)
      return fail(ErrorCode::UNSUPPORTED_VERSION, "{} has no version {}", alternative.info->name, head.version);
    const auto version = static_cast<int16_t>(head.version);
    TRY_VOID(decode_message(*alternative.info, alternative.emplace(record), version, reader));
    if (reader.remaining() != 0)
      return fail(ErrorCode::INVALID_REQUEST, "{} bytes follow a {}", reader.remaining(), alternative.info->name);
    return version;
  }
  return fail(ErrorCode::UNSUPPORTED_VERSION, "metadata record type {} is not known", head.type);
}

Result<Bytes> encode_coordinator_part(const MessageInfo& info, const void* part, int16_t number, int16_t version) {
  Writer writer(64);
  writer.put(number);
  TRY_VOID(encode_message(info, part, version, writer));
  return writer.take_bytes();
}

Result<void> decode_coordinator_part(const MessageInfo& info, void* part, int16_t version, BytesView body) {
  Reader reader(body, DecodeMode::STRICT);
  TRY_VOID(decode_message(info, part, version, reader));
  if (reader.remaining() != 0) return fail(ErrorCode::INVALID_REQUEST, "{} bytes follow a {}", reader.remaining(), info.name);
  return {};
}

Result<int16_t> coordinator_number(BytesView bytes) {
  if (bytes.size() < 2) return fail(ErrorCode::INVALID_REQUEST, "a coordinator record of {} bytes; the number in front takes 2", bytes.size());
  return load_big_endian<int16_t>(bytes.data());
}

}  // namespace castellan::wire

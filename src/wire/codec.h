// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Encode and decode any generated message, by the tables of wire/tables.h.
//
//   wire::Reader reader(frame);
//   TRY(auto request, wire::decode_as<wire::FetchRequest>(version, reader));
//   wire::Writer writer;
//   TRY_VOID(wire::encode(response, version, writer));
//
// Errors: decode answers INVALID_REQUEST (UNSUPPORTED_VERSION for a version that the message does not have) and names
// the field and the place. It allocates no more than the bytes there could describe: counts are checked against what is
// left, arrays grow as their elements are read, and elements that would take more than 64 MiB and 8 bytes for every byte
// of the message are refused. encode answers UNSUPPORTED_VERSION when a field is set that the version cannot carry (and
// that is not ignorable), INVALID_REQUEST for a null where the version allows none or a string above 32,767 bytes; those
// are faults of the caller's logic.

#pragma once

#include <cstdint>

#include "base/result.h"
#include "wire/reader.h"
#include "wire/tables.h"
#include "wire/writer.h"

namespace castellan::wire {

[[nodiscard]] Result<void> encode_message(const MessageInfo& info, const void* message, int16_t version, Writer& writer);
// `message` must be in its default state. Records are views into the reader's bytes.
[[nodiscard]] Result<void> decode_message(const MessageInfo& info, void* message, int16_t version, Reader& reader);

template <class M>
[[nodiscard]] Result<void> encode(const M& message, int16_t version, Writer& writer) {
  return encode_message(M::info(), &message, version, writer);
}

template <class M>
[[nodiscard]] Result<Bytes> encode_to_bytes(const M& message, int16_t version) {
  Writer writer;
  TRY_VOID(encode_message(M::info(), &message, version, writer));
  return writer.take_bytes();
}

// The size that encode would write.
Result<size_t> encoded_size_of(const MessageInfo& info, const void* message, int16_t version);
template <class M>
Result<size_t> encoded_size(const M& message, int16_t version) {
  return encoded_size_of(M::info(), &message, version);
}

template <class M>
[[nodiscard]] Result<void> decode(M& message, int16_t version, Reader& reader) {
  message = M{};
  return decode_message(M::info(), &message, version, reader);
}

template <class M>
[[nodiscard]] Result<M> decode_as(int16_t version, Reader& reader) {
  M message;
  TRY_VOID(decode_message(M::info(), &message, version, reader));
  return message;
}

// A whole view that holds the message and nothing else (a file, a record's value).
template <class M>
[[nodiscard]] Result<M> decode_exactly(int16_t version, BytesView bytes, DecodeMode mode = DecodeMode::STRICT) {
  Reader reader(bytes, mode);
  TRY(auto message, decode_as<M>(version, reader));
  if (reader.remaining() != 0)
    return fail(ErrorCode::INVALID_REQUEST, "{} version {}: {} bytes follow the end", M::info().name, version, reader.remaining());
  return message;
}

// True when every field has its default and no unknown tagged field is there.
bool is_default(const StructInfo& structure, const void* object);
bool is_default(const FieldInfo& field, const void* object);

}  // namespace castellan::wire

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/header.h"

#include "wire/messages/request_header.h"
#include "wire/messages/response_header.h"

namespace castellan::wire {

Result<RequestStart> read_request_header(Reader& reader) {
  if (reader.remaining() < 4) return fail(ErrorCode::INVALID_REQUEST, "a request of {} bytes has no header", reader.remaining());
  RequestStart start;
  const auto key = load_big_endian<int16_t>(reader.rest().data());
  start.version = load_big_endian<int16_t>(reader.rest().data() + 2);
  start.api = find_api(key);
  if (start.api == nullptr) return fail(ErrorCode::INVALID_REQUEST, "unknown API key {} (version {})", key, start.version);
  start.version_supported = start.api->valid.contains(start.version);
  if (!start.version_supported && start.api->key != ApiKey::API_VERSIONS)
    return fail(ErrorCode::UNSUPPORTED_VERSION, "{} has no version {}; it has {} to {}", start.api->name, start.version, start.api->valid.first,
                start.api->valid.last);
  // An ApiVersions request from the future has a flexible header: the range of flexible versions is open at its end.
  TRY(auto header, decode_as<RequestHeader>(start.api->request_header_version(start.version), reader));
  start.correlation_id = header.correlation_id;
  if (header.client_id) start.client_id = std::move(*header.client_id);
  return start;
}

void write_response_header(const ApiInfo& api, int16_t version, int32_t correlation_id, Writer& writer) {
  writer.put(correlation_id);
  if (api.response_header_version(version) >= 1) writer.put_varint(0);   // no tagged fields
}

Result<int32_t> read_response_header(const ApiInfo& api, int16_t version, Reader& reader) {
  TRY(auto header, decode_as<ResponseHeader>(api.response_header_version(version), reader));
  return header.correlation_id;
}

namespace {

Result<void> put_request_header(const ApiInfo& api, int16_t version, int32_t correlation_id, std::string_view client_id, Writer& writer) {
  RequestHeader header;
  header.request_api_key = static_cast<int16_t>(api.key);
  header.request_api_version = version;
  header.correlation_id = correlation_id;
  header.client_id = std::string(client_id);
  return encode(header, api.request_header_version(version), writer);
}

Result<OutputChain> finish_frame(Writer& writer, int16_t version, const MessageInfo& info, const void* message) {
  TRY_VOID(encode_message(info, message, version, writer));
  const size_t size = writer.size() - 4;
  if (size > INT32_MAX) return fail(ErrorCode::INVALID_REQUEST, "{}: a frame of {} bytes; 2 GiB is the limit", info.name, size);
  writer.patch_int32(0, size);
  return writer.take_chain();
}

}  // namespace

Result<OutputChain> encode_response_frame(const ApiInfo& api, int16_t version, int32_t correlation_id, const MessageInfo& info, const void* message) {
  CHECK(&info == api.response, "{} is not the response of {}", info.name, api.name);
  Writer writer;
  writer.put<int32_t>(0);
  write_response_header(api, version, correlation_id, writer);
  return finish_frame(writer, version, info, message);
}

Result<OutputChain> encode_request_frame(const ApiInfo& api, int16_t version, int32_t correlation_id, std::string_view client_id,
                                         const MessageInfo& info, const void* message) {
  CHECK(&info == api.request, "{} is not the request of {}", info.name, api.name);
  Writer writer;
  writer.put<int32_t>(0);
  TRY_VOID(put_request_header(api, version, correlation_id, client_id, writer));
  return finish_frame(writer, version, info, message);
}

Result<Bytes> frame_request(const ApiInfo& api, int16_t version, int32_t correlation_id, std::string_view client_id, BytesView body) {
  Writer writer(body.size() + 64);
  writer.put<int32_t>(0);
  TRY_VOID(put_request_header(api, version, correlation_id, client_id, writer));
  writer.put_bytes(body);
  writer.patch_int32(0, writer.size() - 4);
  return writer.take_bytes();
}

}  // namespace castellan::wire

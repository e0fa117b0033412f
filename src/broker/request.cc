// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/request.h"

#include <fmt/format.h>

namespace castellan::broker {

void reply_message(Request& request, const wire::MessageInfo& info, const void* response) {
  const auto& start = request.start();
  auto frame = wire::encode_response_frame(*start.api, start.version_supported ? start.version : int16_t{0}, start.correlation_id, info, response);
  if (!frame) return request.close(fmt::format("the answer cannot be written: {}", frame.error().message));
  request.send(std::move(*frame));
}

void reply_encoded(Request& request, BytesView body) {
  const auto& start = request.start();
  wire::Writer writer(body.size() + 16);
  writer.put<int32_t>(0);
  wire::write_response_header(*start.api, start.version, start.correlation_id, writer);
  writer.put_bytes(body);
  writer.patch_int32(0, writer.size() - 4);
  request.send(writer.take_chain());
}

}  // namespace castellan::broker

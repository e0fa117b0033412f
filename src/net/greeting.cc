// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "net/greeting.h"

#include <fmt/format.h>

namespace castellan::net {

std::string describe_bad_length(BytesView bytes, int64_t length, int64_t limit) {
  const auto text = as_text(bytes);
  if (bytes.size() >= 3 && bytes[0] == 0x16 && bytes[1] == 0x03) {
    return "a TLS hello on a PLAINTEXT listener; the client's security.protocol does not fit";
  }
  for (const char* word : {"GET ", "POST", "HEAD", "PUT ", "OPTI", "PRI "}) {
    if (text.starts_with(word)) return "an HTTP request; this port speaks Kafka's protocol";
  }
  if (text.starts_with("SSH-")) return "an SSH banner; this port speaks Kafka's protocol";
  if (length < 0) return fmt::format("a frame of negative length {} (bytes {})", length, to_hex(bytes, 16));
  return fmt::format("a frame of {} bytes; socket.request.max.bytes is {}", length, limit);
}

}  // namespace castellan::net

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/http_address.h"

namespace castellan::config {

Result<std::optional<HostPort>> http_address(const Values& values) {
  constexpr std::string_view key = "castellan.http.address";
  const std::string text = values.text(key);
  if (text.empty()) return std::nullopt;
  auto address = text.find("://") == std::string::npos ? parse_host_port(text) : std::nullopt;
  if (!address) return fail(ErrorCode::INVALID_CONFIG, "Invalid value {} for configuration {}: it is host:port, such as 127.0.0.1:9990, without a scheme", text, key);
  return address;
}

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Every response in every version, as it comes from a socket.

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  return fuzz::run(data, size, wire::DecodeMode::LENIENT, [](const wire::MessageInfo& info) { return info.type == wire::MessageType::RESPONSE; });
}

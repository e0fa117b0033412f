// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Records and state files in every version, as they lie on disk.

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  return fuzz::run(data, size, wire::DecodeMode::STRICT, [](const wire::MessageInfo& info) {
    return info.type != wire::MessageType::REQUEST && info.type != wire::MessageType::RESPONSE;
  });
}

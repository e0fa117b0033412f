// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a stranger sent instead of a Kafka frame, in words an operator can act on.

#pragma once

#include <string>

#include "base/bytes.h"

namespace castellan::net {

// `bytes` begin with a frame length that is refused.
std::string describe_bad_length(BytesView bytes, int64_t length, int64_t limit);

}  // namespace castellan::net

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// UTF-8 as Java reads it: what is malformed becomes U+FFFD, one for each longest part that could have begun a character.

#pragma once

#include <string>

#include "base/bytes.h"

namespace castellan::wire {

bool is_utf8(BytesView bytes);
std::string replace_bad_utf8(BytesView bytes);

}  // namespace castellan::wire

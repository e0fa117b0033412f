// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// CRC-32C (Castagnoli), the checksum of record batches, producer snapshots and metadata. Uses the SSE4.2 instruction.

#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace castellan {

// The checksum of `bytes`; give the checksum of what came before as `previous` to go on from it.
uint32_t crc32c(BytesView bytes, uint32_t previous = 0);

}  // namespace castellan

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Whether bytes of a file are in memory, and how they get there. The broker's loop never waits for a disk to read what a consumer
// asks for: it looks first, and what is cold is read once by a worker, into the page cache, before the answer is sent from there.
//
// Files without a descriptor (in memory) are never cold. is_cached and read_if_cached do not block; warm does.
// Linux: cachestat(2), or preadv2 with RWF_NOWAIT where that is not there.

#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/result.h"

namespace castellan::io {
class File;
}

namespace castellan::broker {

bool is_cached(const io::File& file, uint64_t position, uint64_t length);
// Nothing when some of it is cold. Fewer bytes than asked for: the file ends there.
Result<std::optional<Bytes>> read_if_cached(const io::File& file, uint64_t position, size_t length);
// Errors are left to whoever sends the bytes.
void warm(const io::File& file, uint64_t position, uint64_t length);

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Small numbers for directory ids, so that a partition keeps 4 bytes instead of 16 for each replica's directory. A
// cluster has few directories and a million partitions. The table is the program's, grows only, and can be seen by
// nobody: the same id has the same number in every image, so that packed partitions of any two images compare.
// Any thread.

#pragma once

#include <cstdint>

#include "base/ids.h"

namespace castellan::image {

uint32_t directory_number(DirectoryId id);
DirectoryId directory_by_number(uint32_t number);

}  // namespace castellan::image

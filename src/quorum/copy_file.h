// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A copy of a file, synced, over whatever is at `to`. Its name is on disk once the folder is synced.

#pragma once

#include "io/file.h"

namespace castellan::quorum {

Result<void> copy_file(io::FileSystem& files, const std::string& from, const std::string& to);

}  // namespace castellan::quorum

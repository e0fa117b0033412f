// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The real file system, clock and entropy of this machine. All may be used from any thread.

#pragma once

#include <memory>

#include "io/clock.h"
#include "io/file.h"

namespace castellan::io {

std::unique_ptr<FileSystem> make_posix_file_system();
std::unique_ptr<Clock> make_system_clock();
std::unique_ptr<Entropy> make_system_entropy();

}  // namespace castellan::io

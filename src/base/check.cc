// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace castellan {
namespace {
std::atomic<CheckFailureHook> failure_hook{nullptr};
}

void set_check_failure_hook(CheckFailureHook hook) { failure_hook = hook; }

void check_failed(const char* file, int line, const char* condition, const std::string& detail) {
  const std::string message =
      detail.empty() ? fmt::format("CHECK failed: {} at {}:{}", condition, file, line)
                     : fmt::format("CHECK failed: {} ({}) at {}:{}", condition, detail, file, line);
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(stderr);
  // Exchanged, so that a hook which itself fails a CHECK does not run again.
  if (CheckFailureHook hook = failure_hook.exchange(nullptr)) hook(message);
  std::abort();
}

}  // namespace castellan

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Assertions that are always on. CHECK is for what cannot be: when it fails the program's own memory can no longer be
// trusted, so it prints where and why and aborts (fail-stop). What can be (bad input, a full disk, a lost peer) is a
// Result (base/result.h), never a CHECK.
//
//   CHECK(applied <= committed, "applied {} is beyond committed {}", applied, committed);
//   CHECK(leader.has_value());

#pragma once

#include <fmt/format.h>

#include <string>

namespace castellan {

// Called once with the whole message before the abort; a node sets it to dump its black box. Any thread.
using CheckFailureHook = void (*)(const std::string& message);
void set_check_failure_hook(CheckFailureHook hook);

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& detail);

namespace check_internal {
inline std::string detail() { return {}; }
template <class... Args>
std::string detail(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
}  // namespace check_internal

}  // namespace castellan

#define CHECK(condition, ...)                                                                                   \
  (static_cast<bool>(condition)                                                                                 \
       ? static_cast<void>(0)                                                                                   \
       : ::castellan::check_failed(__FILE__, __LINE__, #condition, ::castellan::check_internal::detail(__VA_ARGS__)))

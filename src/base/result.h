// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Result<T>: a value, or an Error that the caller must look at. For everything that can be; what cannot be is a CHECK.
//
//   Result<Batch> parse(BytesView bytes);
//   ...
//   auto batch = parse(bytes);
//   if (!batch) return unexpected(batch.error());
//   TRY(auto header, parse_header(bytes));        // the same in one line
//   return fail(ErrorCode::CORRUPT_MESSAGE, "{}: batch at {} has length {}", file, position, length);
//
// An Error's message is for people: it names the thing, the value and the way out. Its code is what goes on the wire.

#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <utility>

#include "base/error_code.h"

namespace castellan {

struct Error {
  ErrorCode code = ErrorCode::UNKNOWN_SERVER_ERROR;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> unexpected(Error error) { return std::unexpected<Error>(std::move(error)); }

template <class... Args>
std::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace castellan

#define CASTELLAN_CONCAT_(a, b) a##b
#define CASTELLAN_CONCAT(a, b) CASTELLAN_CONCAT_(a, b)

// TRY(auto x, expression): x is the value, or the function returns the error.
#define TRY(declaration, ...) TRY_(CASTELLAN_CONCAT(try_result_, __COUNTER__), declaration, __VA_ARGS__)
#define TRY_(name, declaration, ...)                                    \
  auto name = (__VA_ARGS__);                                            \
  if (!name) return ::castellan::unexpected(std::move(name).error());   \
  declaration = std::move(*name)

// TRY_VOID(expression): the same for a Result without a value.
#define TRY_VOID(...)                                                                                  \
  if (auto try_void_result = (__VA_ARGS__); !try_void_result)                                          \
  return ::castellan::unexpected(std::move(try_void_result).error())

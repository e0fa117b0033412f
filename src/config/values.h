// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The parsed values of one scope: what was given over the defaults. Every key of the scope's table has one.
//
//   TRY(Values values, Values::parse(Scope::broker, properties));
//   values.integer("num.io.threads")
//
// Getters CHECK that the key exists and has the type asked for: a wrong name is a mistake in the program, not in the input.
// Immutable once parsed; any thread may read.

#pragma once

#include <functional>
#include <map>

#include "config/properties.h"
#include "config/table.h"

namespace castellan::config {

class Values {
 public:
  // Parses every given key that the scope knows and fills in defaults; keys that it does not know are skipped.
  // Fails (INVALID_CONFIG) on the first bad value, in the order of names, or on a required key that is missing.
  static Result<Values> parse(Scope scope, const ConfigMap& given);

  bool boolean(std::string_view key) const;
  int64_t integer(std::string_view key) const;                      // SHORT, INT, LONG
  std::optional<int64_t> integer_or_null(std::string_view key) const;
  double real(std::string_view key) const;
  const std::string& text(std::string_view key) const;              // STRING, CLASS, PASSWORD; CHECKs that it is not null
  std::optional<std::string> text_or_null(std::string_view key) const;
  const std::vector<std::string>& list(std::string_view key) const;
  bool is_null(std::string_view key) const;
  const Value& value(std::string_view key) const;

  // Replaces one value; for values that other keys derive.
  void set(std::string_view key, Value value);

 private:
  Scope scope_ = Scope::broker;
  std::map<std::string_view, Value> given_;  // the keys' names live in the table; a key that is not here has its default
};

}  // namespace castellan::config

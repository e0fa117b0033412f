// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/values.h"

#include "base/check.h"

namespace castellan::config {

Result<Values> Values::parse(Scope scope, const ConfigMap& given) {
  Values values;
  values.scope_ = scope;
  for (const Key& key : keys_of(scope)) {
    auto found = given.find(key.name);
    if (found == given.end()) {
      if (key.required) return fail(ErrorCode::INVALID_CONFIG, "Missing required configuration \"{}\" which has no default value.", key.name);
      continue;
    }
    TRY(Value value, parse_value(key, found->second));
    values.given_.insert_or_assign(key.name, std::move(value));
  }
  return values;
}

const Value& Values::value(std::string_view name) const {
  if (auto found = given_.find(name); found != given_.end()) return found->second;
  const Key* key = find_key(scope_, name);
  CHECK(key != nullptr, "no configuration key {}", name);
  return default_value(*key);
}

void Values::set(std::string_view name, Value value) {
  const Key* key = find_key(scope_, name);
  CHECK(key != nullptr, "no configuration key {}", name);
  given_.insert_or_assign(key->name, std::move(value));
}

bool Values::is_null(std::string_view key) const { return std::holds_alternative<std::monostate>(value(key)); }

bool Values::boolean(std::string_view key) const {
  auto* found = std::get_if<bool>(&value(key));
  CHECK(found != nullptr, "{} is not a boolean", key);
  return *found;
}

int64_t Values::integer(std::string_view key) const {
  auto* found = std::get_if<int64_t>(&value(key));
  CHECK(found != nullptr, "{} is not an integer, or null", key);
  return *found;
}

std::optional<int64_t> Values::integer_or_null(std::string_view key) const {
  if (is_null(key)) return std::nullopt;
  return integer(key);
}

double Values::real(std::string_view key) const {
  auto* found = std::get_if<double>(&value(key));
  CHECK(found != nullptr, "{} is not a double", key);
  return *found;
}

const std::string& Values::text(std::string_view key) const {
  auto* found = std::get_if<std::string>(&value(key));
  CHECK(found != nullptr, "{} is not text, or null", key);
  return *found;
}

std::optional<std::string> Values::text_or_null(std::string_view key) const {
  if (is_null(key)) return std::nullopt;
  return text(key);
}

const std::vector<std::string>& Values::list(std::string_view key) const {
  auto* found = std::get_if<std::vector<std::string>>(&value(key));
  CHECK(found != nullptr, "{} is not a list, or null", key);
  return *found;
}

}  // namespace castellan::config

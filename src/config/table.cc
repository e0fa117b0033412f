// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/table.h"

#include "base/check.h"
#include "config/limit.h"

namespace castellan::config {
namespace {

// The vocabulary of the keys_*.inc files.
using enum Type;
using enum Importance;
using enum Dynamic;

constexpr const char* null = nullptr;
constexpr char required[] = "";  // told from an empty default by its address

constexpr Limit any() { return {}; }
constexpr Limit at_least(double minimum) { return {.kind = Limit::Kind::range, .minimum = minimum, .maximum = {}, .words = {}}; }
constexpr Limit between(double minimum, double maximum) { return {.kind = Limit::Kind::range, .minimum = minimum, .maximum = maximum, .words = {}}; }
constexpr Limit words_of(Limit::Kind kind, std::string_view words) { return {.kind = kind, .minimum = {}, .maximum = {}, .words = words}; }
constexpr Limit one_of(std::string_view words) { return words_of(Limit::Kind::one_of, words); }
constexpr Limit one_of_ignoring_case(std::string_view words) { return words_of(Limit::Kind::one_of_ignoring_case, words); }
constexpr Limit list_with(std::string_view words, bool empty_allowed, bool null_allowed) {
  return {.kind = Limit::Kind::list, .minimum = {}, .maximum = {}, .words = words, .empty_allowed = empty_allowed, .null_allowed = null_allowed};
}
constexpr Limit list(std::string_view words = {}) { return list_with(words, true, false); }
constexpr Limit list_or_null(std::string_view words = {}) { return list_with(words, true, true); }
constexpr Limit list_not_empty(std::string_view words = {}) { return list_with(words, false, false); }
constexpr Limit list_not_empty_or_null(std::string_view words = {}) { return list_with(words, false, true); }
constexpr Limit not_null() { return words_of(Limit::Kind::not_null, {}); }
constexpr Limit not_empty() { return words_of(Limit::Kind::not_empty, {}); }
constexpr Limit gzip_level() { return words_of(Limit::Kind::gzip_level, {}); }
constexpr Limit throttled_replicas() { return words_of(Limit::Kind::throttled_replicas, {}); }
constexpr Limit auto_offset_reset() { return words_of(Limit::Kind::auto_offset_reset, {}); }
constexpr Limit quorum_voters() { return words_of(Limit::Kind::quorum_voters, {}); }
constexpr Limit bootstrap_servers() { return words_of(Limit::Kind::bootstrap_servers, {}); }

Key key(std::string_view name, Type type, const char* default_text, Importance importance, Dynamic dynamic, const Limit& limit, std::string_view documentation) {
  bool is_required = default_text == required;
  return {.name = name, .scope = Scope::broker, .type = type, .default_text = is_required ? nullptr : default_text, .required = is_required,
          .importance = importance, .dynamic = dynamic, .internal = false, .limit = limit, .documentation = documentation};
}

Key hidden(std::string_view name, Type type, const char* default_text, Importance importance, Dynamic dynamic, const Limit& limit, std::string_view documentation) {
  Key made = key(name, type, default_text, importance, dynamic, limit, documentation);
  made.internal = true;
  return made;
}

struct Table {
  std::vector<Key> keys;
  std::vector<Value> defaults;  // beside keys

  Table(Scope scope, std::vector<Key> rows) : keys(std::move(rows)) {
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return a.name < b.name; });
    for (Key& row : keys) {
      row.scope = scope;
      if (row.required || !row.default_text) {
        defaults.emplace_back();
        continue;
      }
      auto value = parse_type(row, row.default_text);
      CHECK(value.has_value(), "default of {}: {}", row.name, value.error().message);
      defaults.push_back(std::move(*value));
    }
  }
};

const Table& table_of(Scope scope) {
  static const Table broker(Scope::broker, {
#include "config/keys_castellan.inc"
#include "config/keys_coordinators.inc"
#include "config/keys_log.inc"
#include "config/keys_node.inc"
#include "config/keys_other.inc"
#include "config/keys_remote.inc"
#include "config/keys_security.inc"
  });
  static const Table topic(Scope::topic, {
#include "config/keys_topic.inc"
  });
  static const Table group(Scope::group, {
#include "config/keys_group_settings.inc"
  });
  static const Table client_metrics(Scope::client_metrics, {
#include "config/keys_client_metrics.inc"
  });
  switch (scope) {
    case Scope::broker: return broker;
    case Scope::topic: return topic;
    case Scope::group: return group;
    case Scope::client_metrics: return client_metrics;
  }
  CHECK(false, "scope {}", static_cast<int>(scope));
  return broker;
}

}  // namespace

std::span<const Key> keys_of(Scope scope) { return table_of(scope).keys; }

const Key* find_key(Scope scope, std::string_view name) {
  std::span<const Key> keys = keys_of(scope);
  auto found = std::lower_bound(keys.begin(), keys.end(), name, [](const Key& key, std::string_view wanted) { return key.name < wanted; });
  return found != keys.end() && found->name == name ? &*found : nullptr;
}

Result<Value> parse_value(const Key& key, std::optional<std::string_view> text) {
  Value value;
  if (text) {
    TRY(value, parse_type(key, *text));
  }
  if (key.limit.kind == Limit::Kind::list) remove_repetitions(value);
  TRY_VOID(check_limit(key, value));
  return value;
}

const Value& default_value(const Key& key) {
  const Table& table = table_of(key.scope);
  size_t index = &key - table.keys.data();
  CHECK(index < table.keys.size(), "{} is not a row of the table", key.name);
  CHECK(!key.required, "{} has no default", key.name);
  return table.defaults[index];
}

std::string_view type_name(Type type) {
  static constexpr std::array<std::string_view, 10> names = {"unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password"};
  return names[static_cast<size_t>(type)];
}

std::string_view dynamic_name(Dynamic dynamic) {
  static constexpr std::array<std::string_view, 3> names = {"read-only", "per-broker", "cluster-wide"};
  return names[static_cast<size_t>(dynamic)];
}

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The one table of every configuration key: its type, default, limits, how it may be changed, and what it is for. Parsing, validation,
// DescribeConfigs and doc/configuration.md all read it. A new key is a row in one of the config/keys_*.inc files.
//
//   const Key* key = find_key(Scope::broker, "num.io.threads");
//   parse_value(*key, "0")       -> INVALID_CONFIG: "Invalid value 0 for configuration num.io.threads: Value must be at least 1"
//
// Keys live as long as the program. Pure, any thread. Messages are those of Kafka's ConfigDef, since scripts look for their words.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace castellan::config {

// The numbers go on the wire (DescribeConfigs, ConfigType).
enum class Type : int8_t { UNKNOWN = 0, BOOLEAN = 1, STRING = 2, INT = 3, SHORT = 4, LONG = 5, DOUBLE = 6, LIST = 7, CLASS = 8, PASSWORD = 9 };

enum class Scope : uint8_t { broker, topic, group, client_metrics };

enum class Importance : uint8_t { HIGH, MEDIUM, LOW };

// How a broker key may be changed while the broker runs (topic, group and client metrics keys always may).
enum class Dynamic : uint8_t {
  read_only,     // only by a restart
  per_broker,    // for one broker only, e.g. its listeners
  cluster_wide,  // for one broker, or for all
};

// What a value must satisfy beyond its type.
struct Limit {
  enum class Kind : uint8_t {
    any,
    range,                   // minimum and maximum, each may be missing
    one_of,                  // `words`, comma-separated
    one_of_ignoring_case,
    list,                    // no empty item, no item twice, each one of `words` where there are any
    not_null,
    not_empty,
    gzip_level,              // 1 to 9, or -1
    throttled_replicas,      // `*`, or partition:broker items
    auto_offset_reset,       // earliest, latest, by_duration:<ISO 8601>
    quorum_voters,           // {id}@{host}:{port} items
    bootstrap_servers,       // {host}:{port} items
  };
  Kind kind = Kind::any;
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::string_view words;
  bool empty_allowed = true;
  bool null_allowed = false;
};

struct Key {
  std::string_view name;
  Scope scope = Scope::broker;
  Type type = Type::STRING;
  const char* default_text = nullptr;  // as DescribeConfigs shows it; nullptr: null
  bool required = false;               // no default at all
  Importance importance = Importance::MEDIUM;
  Dynamic dynamic = Dynamic::read_only;
  bool internal = false;               // works, but DescribeConfigs does not show it
  Limit limit;
  std::string_view documentation;

  bool sensitive() const { return type == Type::PASSWORD; }
};

// A parsed value; monostate is null. SHORT, INT and LONG are int64_t; STRING, CLASS and PASSWORD are text.
using Value = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>>;

// All keys of a scope, sorted by name.
std::span<const Key> keys_of(Scope scope);
// nullptr when there is none.
const Key* find_key(Scope scope, std::string_view name);

// Text to value by the key's type, then its limit. Text is trimmed first, as Kafka does, but for passwords. nullopt is null.
Result<Value> parse_value(const Key& key, std::optional<std::string_view> text);
// The key's default. CHECKs that it has one.
const Value& default_value(const Key& key);
// A value as DescribeConfigs shows it; nullopt for null.
std::optional<std::string> value_text(const Value& value);

// A list value's items: split at commas, trimmed; "" has none.
std::vector<std::string> split_list(std::string_view text);

// What kafka-configs --describe and the documentation call things.
std::string_view type_name(Type type);
std::string_view dynamic_name(Dynamic dynamic);
// "[1,...]", "[compact, delete]", "" for any.
std::string limit_text(const Key& key);

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/limit.h"

#include <charconv>
#include <cmath>

#include "config/addresses.h"

namespace castellan::config {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) { return upper(a) == upper(b); }

std::string shown(const Value& value) {
  if (auto* items = std::get_if<std::vector<std::string>>(&value)) return fmt::format("[{}]", fmt::join(*items, ", "));
  return value_text(value).value_or("null");
}

std::unexpected<Error> refuse(const Key& key, std::string_view value, std::string_view reason) {
  return fail(ErrorCode::INVALID_CONFIG, "Invalid value {} for configuration {}: {}", value, key.name, reason);
}

Result<Value> parse_integer(const Key& key, std::string_view text, int64_t minimum, int64_t maximum) {
  std::string_view digits = text.starts_with('+') && text.size() > 1 && text[1] != '-' ? text.substr(1) : text;
  int64_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty() || number < minimum || number > maximum) {
    return refuse(key, text, fmt::format("Not a number of type {}", upper(type_name(key.type))));
  }
  return Value(number);
}

Result<Value> parse_double(const Key& key, std::string_view text) {
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  if (!digits.empty() && (digits.back() == 'd' || digits.back() == 'D' || digits.back() == 'f' || digits.back() == 'F')) digits.remove_suffix(1);
  bool negative = digits.starts_with('-');
  std::string_view magnitude = negative ? digits.substr(1) : digits;
  double number = 0;
  if (magnitude == "NaN") return Value(std::nan(""));
  if (magnitude == "Infinity") return Value(negative ? -HUGE_VAL : HUGE_VAL);
  bool numeric = !magnitude.empty() && (magnitude[0] == '.' || (magnitude[0] >= '0' && magnitude[0] <= '9'));
  auto [end, error] = std::from_chars(magnitude.data(), magnitude.data() + magnitude.size(), number);
  if (numeric && error == std::errc::result_out_of_range && end == magnitude.data() + magnitude.size()) {
    number = std::strtod(std::string(magnitude).c_str(), nullptr);  // to infinity or to zero, as Java does
  } else if (!numeric || error != std::errc() || end != magnitude.data() + magnitude.size()) {
    return refuse(key, text, "Not a number of type DOUBLE");
  }
  return Value(negative ? -number : number);
}

// What Kafka says about a value that is none of `words`.
std::string must_be_one_of(std::string_view words, bool ignoring_case) {
  return fmt::format("String must be one of{}: {}", ignoring_case ? " (case insensitive)" : "", fmt::join(split_list(words), ", "));
}

bool contains(std::string_view words, std::string_view text, bool ignoring_case) {
  for (const std::string& word : split_list(words)) {
    if (ignoring_case ? equals_ignoring_case(word, text) : word == text) return true;
  }
  return false;
}

Result<void> check_list(const Key& key, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) {
    if (key.limit.null_allowed) return {};
    return fail(ErrorCode::INVALID_CONFIG, "Configuration '{}' values must not be null.", key.name);
  }
  const auto& items = std::get<std::vector<std::string>>(value);
  if (items.empty() && !key.limit.empty_allowed) {
    std::string valid = key.limit.words.empty() ? "any non-empty value" : fmt::format("[{}]", fmt::join(split_list(key.limit.words), ", "));
    return fail(ErrorCode::INVALID_CONFIG, "Configuration '{}' must not be empty. Valid values include: {}", key.name, valid);
  }
  for (const std::string& item : items) {
    if (item.empty()) return fail(ErrorCode::INVALID_CONFIG, "Configuration '{}' values must not be empty.", key.name);
    if (!key.limit.words.empty() && !contains(key.limit.words, item, false)) return refuse(key, item, must_be_one_of(key.limit.words, false));
  }
  return {};
}

Result<void> check_range(const Key& key, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return refuse(key, "null", "Value must be non-null");
  double number = std::holds_alternative<double>(value) ? std::get<double>(value) : static_cast<double>(std::get<int64_t>(value));
  auto bound = [&](double limit) { return limit == std::floor(limit) ? fmt::format("{:.0f}", limit) : fmt::format("{}", limit); };
  if (key.limit.minimum && number < *key.limit.minimum) return refuse(key, shown(value), "Value must be at least " + bound(*key.limit.minimum));
  if (key.limit.maximum && number > *key.limit.maximum) return refuse(key, shown(value), "Value must be no more than " + bound(*key.limit.maximum));
  return {};
}

// `*`, or items of two whole numbers with a colon between.
bool is_throttled_replicas(const std::vector<std::string>& items) {
  if (items.size() == 1 && items[0] == "*") return true;
  auto is_number = [](std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; };
  return std::all_of(items.begin(), items.end(), [&](std::string_view item) {
    size_t colon = item.find(':');
    return colon != std::string_view::npos && is_number(item.substr(0, colon)) && is_number(item.substr(colon + 1));
  });
}

// ISO 8601's PnDTnHnMn.nS, as java.time.Duration takes it, without negative ones.
bool is_duration(std::string_view text) {
  if (text.empty() || (text[0] != 'P' && text[0] != 'p')) return false;
  text.remove_prefix(1);
  std::string_view units = "DTHMS";
  bool any = false, in_time = false, time_part = false;
  while (!text.empty()) {
    if (text[0] == 'T' || text[0] == 't') {
      if (in_time) return false;
      in_time = true;
      units = "HMS";
      text.remove_prefix(1);
      continue;
    }
    size_t digits = 0;
    bool fraction = false;
    while (digits < text.size() && ((text[digits] >= '0' && text[digits] <= '9') || (text[digits] == '.' && digits > 0 && !fraction))) {
      fraction |= text[digits] == '.';
      ++digits;
    }
    if (digits == 0 || digits == text.size()) return false;
    char unit = upper(text.substr(digits, 1))[0];
    size_t place = units.find(unit);
    if (unit == 'T' || place == std::string_view::npos || (unit != 'D' && !in_time) || (fraction && unit != 'S')) return false;
    units.remove_prefix(place + 1);
    text.remove_prefix(digits + 1);
    any = true;
    time_part |= in_time;
  }
  return any && (!in_time || time_part);
}

}  // namespace

Result<Value> parse_type(const Key& key, std::string_view given) {
  std::string_view text = trim(given);
  switch (key.type) {
    case Type::BOOLEAN:
      if (equals_ignoring_case(text, "true")) return Value(true);
      if (equals_ignoring_case(text, "false")) return Value(false);
      return refuse(key, given, "Expected value to be either true or false");
    case Type::SHORT:
    case Type::INT:
    case Type::LONG: {
      int64_t maximum = key.type == Type::SHORT ? INT16_MAX : key.type == Type::INT ? INT32_MAX : INT64_MAX;
      auto number = parse_integer(key, text, -maximum - 1, maximum);
      if (!number) return refuse(key, given, fmt::format("Not a number of type {}", upper(type_name(key.type))));
      return number;
    }
    case Type::DOUBLE: {
      auto number = parse_double(key, text);
      if (!number) return refuse(key, given, "Not a number of type DOUBLE");
      return number;
    }
    case Type::LIST: return Value(split_list(text));
    case Type::STRING:
    case Type::CLASS:
    case Type::PASSWORD:
    case Type::UNKNOWN: return Value(std::string(text));
  }
  return Value();
}

Result<void> check_limit(const Key& key, const Value& value) {
  const Limit& limit = key.limit;
  const bool is_null = std::holds_alternative<std::monostate>(value);
  switch (limit.kind) {
    case Limit::Kind::any: return {};
    case Limit::Kind::range: return check_range(key, value);
    case Limit::Kind::list: return check_list(key, value);
    case Limit::Kind::one_of:
    case Limit::Kind::one_of_ignoring_case: {
      bool ignoring_case = limit.kind == Limit::Kind::one_of_ignoring_case;
      if (is_null || !contains(limit.words, std::get<std::string>(value), ignoring_case)) return refuse(key, shown(value), must_be_one_of(limit.words, ignoring_case));
      return {};
    }
    case Limit::Kind::not_null:
      if (is_null) return refuse(key, "null", "entry must be non null");
      return {};
    case Limit::Kind::not_empty:
      if (!is_null && std::get<std::string>(value).empty()) return refuse(key, "", "String must be non-empty");
      return {};
    case Limit::Kind::gzip_level: {
      if (is_null) return refuse(key, "null", "Value must be non-null");
      int64_t level = std::get<int64_t>(value);
      if (level < -1 || level == 0 || level > 9) return refuse(key, shown(value), "Value must be between 1 and 9 or equal to -1");
      return {};
    }
    case Limit::Kind::throttled_replicas:
      if (!is_null && is_throttled_replicas(std::get<std::vector<std::string>>(value))) return {};
      return refuse(key, shown(value), fmt::format("{} must be the literal '*' or a list of replicas in the following format: "
                                                   "[partitionId]:[brokerId],[partitionId]:[brokerId],...", key.name));
    case Limit::Kind::auto_offset_reset: {
      std::string text = shown(value);
      if (text == "earliest" || text == "latest" || (text.starts_with("by_duration:") && is_duration(std::string_view(text).substr(12)))) return {};
      return refuse(key, text, fmt::format("Invalid value `{}` for configuration {}. The value must be either 'earliest', 'latest' or of the format "
                                           "'by_duration:<PnDTnHnMn.nS>'.", text, key.name));
    }
    case Limit::Kind::quorum_voters:
      if (is_null) return fail(ErrorCode::INVALID_CONFIG, "Invalid value null for configuration {}", key.name);
      if (auto voters = parse_quorum_voters(std::get<std::vector<std::string>>(value)); !voters) return unexpected(voters.error());
      return {};
    case Limit::Kind::bootstrap_servers:
      if (is_null) return fail(ErrorCode::INVALID_CONFIG, "Invalid value null for configuration {}", key.name);
      if (auto servers = parse_bootstrap_servers(std::get<std::vector<std::string>>(value)); !servers) return unexpected(servers.error());
      return {};
  }
  return {};
}

void remove_repetitions(Value& value) {
  auto* items = std::get_if<std::vector<std::string>>(&value);
  if (!items) return;
  std::vector<std::string> kept;
  for (std::string& item : *items) {
    if (std::find(kept.begin(), kept.end(), item) == kept.end()) kept.push_back(std::move(item));
  }
  *items = std::move(kept);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  text = trim(text);
  while (!text.empty()) {
    size_t comma = text.find(',');
    items.emplace_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
    if (text.empty()) items.emplace_back();  // "a," has an empty second item
  }
  return items;
}

std::string java_double_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  char buffer[40];
  double magnitude = std::fabs(number);
  if (magnitude == 0 || (magnitude >= 1e-3 && magnitude < 1e7)) {
    auto end = std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::fixed).ptr;
    std::string text(buffer, end);
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  size_t exponent_at = text.find('e');
  std::string mantissa = text.substr(0, exponent_at);
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  return fmt::format("{}E{}", mantissa, std::atoi(text.c_str() + exponent_at + 1));
}

std::optional<std::string> value_text(const Value& value) {
  if (auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  if (auto* real = std::get_if<double>(&value)) return java_double_text(*real);
  if (auto* text = std::get_if<std::string>(&value)) return *text;
  if (auto* items = std::get_if<std::vector<std::string>>(&value)) return fmt::format("{}", fmt::join(*items, ","));
  return std::nullopt;
}

std::string limit_text(const Key& key) {
  auto number = [](double value) { return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{}", value); };
  const Limit& limit = key.limit;
  switch (limit.kind) {
    case Limit::Kind::any:
    case Limit::Kind::not_null: return "";
    case Limit::Kind::range: return fmt::format("[{},...{}]", number(limit.minimum.value_or(0)), limit.maximum ? "," + number(*limit.maximum) : "");
    case Limit::Kind::one_of: return fmt::format("[{}]", fmt::join(split_list(limit.words), ", "));
    case Limit::Kind::one_of_ignoring_case: return fmt::format("(case insensitive) [{}]", fmt::join(split_list(limit.words), ", "));
    case Limit::Kind::list: return !limit.words.empty() ? fmt::format("[{}]", fmt::join(split_list(limit.words), ", ")) : limit.empty_allowed ? "" : "not empty";
    case Limit::Kind::not_empty: return "not empty";
    case Limit::Kind::gzip_level: return "[1,...,9] or -1";
    case Limit::Kind::throttled_replicas: return "* or {partition}:{broker},...";
    case Limit::Kind::auto_offset_reset: return "[earliest, latest, by_duration:PnDTnHnMn.nS]";
    case Limit::Kind::quorum_voters: return "{id}@{host}:{port},...";
    case Limit::Kind::bootstrap_servers: return "{host}:{port},...";
  }
  return "";
}

}  // namespace castellan::config

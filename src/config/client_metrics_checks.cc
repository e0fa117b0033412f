// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/client_metrics_checks.h"

#include "config/table.h"

namespace castellan::config {
namespace {

constexpr std::array<std::string_view, 6> attributes = {"client_instance_id",      "client_id",             "client_software_name",
                                                        "client_software_version", "client_source_address", "client_source_port"};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// attribute=regular expression
bool is_match(std::string_view item) {
  size_t equals = item.find('=');
  if (equals == std::string_view::npos || equals + 1 == item.size() || item.find('=', equals + 1) != std::string_view::npos) return false;
  std::string_view attribute = trim(item.substr(0, equals));
  return std::find(attributes.begin(), attributes.end(), attribute) != attributes.end() && is_java_pattern(trim(item.substr(equals + 1)));
}

// The position behind {n}, {n,} or {n,m} at `at`; nullopt when it is none.
std::optional<size_t> skip_count(std::string_view text, size_t at) {
  size_t end = text.find('}', at);
  if (end == std::string_view::npos || end == at + 1) return std::nullopt;
  std::string_view inside = text.substr(at + 1, end - at - 1);
  if (inside.front() == ',' || inside.find_first_not_of("0123456789,") != std::string_view::npos || std::ranges::count(inside, ',') > 1) return std::nullopt;
  return end + 1;
}

}  // namespace

bool is_java_pattern(std::string_view text) {
  size_t groups = 0, classes = 0;
  bool repeatable = false;  // something stands here that a quantifier may follow
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      if (i + 1 == text.size()) return false;
      if (text[i + 1] == 'Q') {  // literal up to \E
        size_t end = text.find("\\E", i + 2);
        if (end == std::string_view::npos) return true;
        i = end;
      }
      ++i;
      if (i + 1 < text.size() && text[i + 1] == '{' && std::string_view("pPxN").find(text[i]) != std::string_view::npos) {  // \p{L}  \x{1F600}
        i = text.find('}', i);
        if (i == std::string_view::npos) return false;
      }
      repeatable = true;
    } else if (classes > 0) {
      if (c == '[') ++classes;
      if (c == ']' && --classes == 0) repeatable = true;
    } else if (c == '[') {
      classes = 1;
      if (i + 1 < text.size() && text[i + 1] == '^') ++i;
      if (i + 1 < text.size() && text[i + 1] == ']') ++i;  // a first ] is a member
    } else if (c == '(') {
      ++groups;
      repeatable = false;
      if (i + 1 < text.size() && text[i + 1] == '?') {  // (?:  (?=  (?<name>  (?i)
        if (i + 2 == text.size() || std::string_view(":=!<>imsduxU-").find(text[i + 2]) == std::string_view::npos) return false;
        i += 2;
      }
    } else if (c == ')') {
      if (groups-- == 0) return false;
      repeatable = true;
    } else if (c == '|') {
      repeatable = false;
    } else if (c == '*' || c == '+' || c == '?' || c == '{') {
      if (!repeatable) return false;
      if (c == '{') {
        auto end = skip_count(text, i);
        if (!end) return false;
        i = *end - 1;
      }
      if (i + 1 < text.size() && (text[i + 1] == '?' || text[i + 1] == '+')) ++i;  // reluctant, possessive
      repeatable = false;
    } else {
      repeatable = true;
    }
  }
  return groups == 0 && classes == 0;
}

Result<void> validate_client_metrics(const ConfigMap& after) {
  for (const auto& [name, text] : after) {
    const Key* key = find_key(Scope::client_metrics, name);
    if (!key) return fail(ErrorCode::INVALID_REQUEST, "Unknown client metrics configuration: {}", name);
    TRY(Value value, parse_value(*key, text));
    if (name == "interval.ms") {
      int64_t interval = std::get<int64_t>(value);
      if (interval < 100 || interval > 3'600'000) {
        return fail(ErrorCode::INVALID_REQUEST, "Invalid value {} for interval.ms, interval must be between 100 and 3600000 (1 hour)", interval);
      }
    }
    if (name != "match") continue;
    for (const std::string& item : std::get<std::vector<std::string>>(value)) {
      if (!is_match(item)) return fail(ErrorCode::INVALID_CONFIG, "Illegal client matching pattern: {}", item);
    }
  }
  return {};
}

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/properties.h"

namespace castellan::config {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// The four hexadecimal digits at text[at].
std::optional<uint32_t> parse_hex4(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return std::nullopt;
  uint32_t code = 0;
  for (char c : text.substr(at, 4)) {
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return std::nullopt;
    code = code * 16 + digit;
  }
  return code;
}

// Joins lines whose end is escaped, drops comments and empty lines. A logical line keeps its escapes.
std::vector<std::string> logical_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::string current;
  bool continued = false;
  size_t at = 0;
  while (at < text.size() || continued) {
    size_t end = text.find_first_of("\r\n", at);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = text.substr(std::min(at, text.size()), end - std::min(at, text.size()));
    at = end + (end + 1 < text.size() && text[end] == '\r' && text[end + 1] == '\n' ? 2 : 1);
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (!continued && (line.empty() || line.front() == '#' || line.front() == '!')) continue;
    size_t backslashes = 0;
    while (backslashes < line.size() && line[line.size() - 1 - backslashes] == '\\') ++backslashes;
    continued = backslashes % 2 == 1 && at <= text.size();
    if (backslashes % 2 == 1) line.remove_suffix(1);
    current += line;
    if (!continued) {
      lines.push_back(std::move(current));
      current.clear();
    }
  }
  return lines;
}

Result<std::string> unescape(std::string_view text, std::string_view name) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) break;
    switch (text[i]) {
      case 't': out += '\t'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 'f': out += '\f'; break;
      case 'u': {
        auto code = parse_hex4(text, i + 1);
        if (!code) return fail(ErrorCode::INVALID_CONFIG, "{}: malformed \\uxxxx in '{}': four hexadecimal digits have to follow", name, text);
        i += 4;
        if (*code >= 0xd800 && *code < 0xdc00 && text.substr(i + 1, 2) == "\\u") {
          auto low = parse_hex4(text, i + 3);
          if (low && *low >= 0xdc00 && *low < 0xe000) {
            *code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
            i += 6;
          }
        }
        append_utf8(out, *code);
        break;
      }
      default: out += text[i];
    }
  }
  return out;
}

}  // namespace

Result<ConfigMap> parse_properties(std::string_view text, std::string_view name) {
  ConfigMap map;
  for (const std::string& line : logical_lines(text)) {
    size_t end = 0;  // of the key: the first blank, '=' or ':' that is not escaped
    while (end < line.size() && !is_blank(line[end]) && line[end] != '=' && line[end] != ':') end += line[end] == '\\' ? 2 : 1;
    end = std::min(end, line.size());
    size_t value = end;
    while (value < line.size() && is_blank(line[value])) ++value;
    if (value < line.size() && (line[value] == '=' || line[value] == ':')) ++value;
    while (value < line.size() && is_blank(line[value])) ++value;
    TRY(std::string key, unescape(std::string_view(line).substr(0, end), name));
    TRY(std::string text_of_value, unescape(std::string_view(line).substr(value), name));
    map.insert_or_assign(std::move(key), std::move(text_of_value));
  }
  return map;
}

std::string format_property(std::string_view key, std::string_view value) {
  std::string out;
  auto append = [&out](std::string_view text, bool is_key) {
    for (size_t i = 0; i < text.size(); ++i) {
      switch (text[i]) {
        case '\t': out += "\\t"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\f': out += "\\f"; break;
        case ' ':
          if (is_key || i == 0) out += '\\';
          out += ' ';
          break;
        case '\\': case '=': case ':': case '#': case '!':
          out += '\\';
          [[fallthrough]];
        default: out += text[i];
      }
    }
  };
  append(key, true);
  out += '=';
  append(value, false);
  out += '\n';
  return out;
}

}  // namespace castellan::config

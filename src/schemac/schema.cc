// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "schemac/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace castellan::schemac {
namespace {

constexpr std::array<std::string_view, 12> primitives = {"bool",   "int8",    "int16", "uint16", "int32", "uint32", "int64",
                                                         "float64", "uuid", "string", "bytes", "records"};
constexpr std::array<std::string_view, 7> kinds = {"request",         "response",          "header", "metadata",
                                                   "coordinator-key", "coordinator-value", "data"};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0;;) {
    at = line.find_first_not_of(' ', at);
    if (at == line.npos) return words;
    const size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_versions(std::string_view text, Versions& versions) {
  if (text == "none") {
    versions = {};
    return true;
  }
  if (text.ends_with('+')) {
    versions.last = Versions::open;
    return parse_number(text.substr(0, text.size() - 1), versions.first);
  }
  const size_t dash = text.find('-');
  if (dash == text.npos) {
    versions.last = 0;
    return parse_number(text, versions.first) && ((versions.last = versions.first), true);
  }
  return parse_number(text.substr(0, dash), versions.first) && parse_number(text.substr(dash + 1), versions.last) &&
         versions.first <= versions.last;
}

// Reads one file, line by line; what nests is kept as a stack of open structs, by indentation.
class Parser {
 public:
  Parser(std::string_view file, std::string_view text) : file_(file), text_(text) {}

  Result<Message> run() {
    for (size_t at = 0; at < text_.size();) {
      const size_t end = std::min(text_.find('\n', at), text_.size());
      std::string_view line = text_.substr(at, end - at);
      at = end + 1;
      ++line_;
      if (line.starts_with('#') || line.find_first_not_of(' ') == line.npos) continue;
      TRY_VOID(read_line(line));
    }
    while (!open_.empty()) close();
    if (message_.name.empty()) return wrong("no message is described here; the first line is e.g. 'request FetchRequest key 1 versions 4-18'");
    message_.root.name = message_.name;
    TRY_VOID(order_structs());
    TRY_VOID(check());
    return std::move(message_);
  }

 private:
  template <class... Args>
  std::unexpected<Error> wrong(fmt::format_string<Args...> format, Args&&... args) {
    return fail(ErrorCode::INVALID_REQUEST, "{}:{}: {}", file_, line_, fmt::format(format, std::forward<Args>(args)...));
  }

  Result<void> read_line(std::string_view line) {
    const size_t indent = line.find_first_not_of(' ');
    const auto words = words_of(line);
    if (message_.name.empty()) return read_head(words);
    if (indent == 0 && words[0] == "listeners") {
      message_.listeners.assign(words.begin() + 1, words.end());
      return {};
    }
    if (indent == 0 && words[0] == "topic" && words.size() == 2) {
      message_.topic = words[1];
      return {};
    }
    if (indent == 0 && words[0] == "struct") {
      if (words.size() != 3) return wrong("expected 'struct NAME VERSIONS'");
      while (!open_.empty()) close();
      open_.push_back({Struct{std::string(words[1]), {}}, 2});
      return {};
    }
    return read_field(indent, words);
  }

  Result<void> read_head(const std::vector<std::string_view>& words) {
    if (words.size() < 2 || std::find(kinds.begin(), kinds.end(), words[0]) == kinds.end())
      return wrong("expected a kind (request, response, header, metadata, coordinator-key, coordinator-value, data) and a name");
    message_.kind = words[0];
    for (size_t i = 2; i < words.size(); ++i) {
      const std::string_view word = words[i];
      const std::string_view value = i + 1 < words.size() ? words[i + 1] : "";
      if (word == "unstable") {
        message_.latest_unstable = true;
      } else if (word == "key") {
        int16_t key;
        if (!parse_number(value, key)) return wrong("key '{}' is not a number", value);
        message_.key = key;
        ++i;
      } else if (word == "versions" || word == "flexible") {
        if (!parse_versions(value, word == "versions" ? message_.versions : message_.flexible))
          return wrong("{} '{}' is no range; write e.g. 0-3, 4, 9+ or none", word, value);
        ++i;
      } else {
        return wrong("unknown word '{}'; known are key, versions, flexible, unstable", word);
      }
    }
    message_.name = words[1];
    return {};
  }

  Result<void> read_field(size_t indent, const std::vector<std::string_view>& words) {
    if (words.size() < 3) return wrong("expected 'Name type versions [options]'");
    while (!open_.empty() && indent < open_.back().indent) close();
    const size_t expected = open_.empty() ? 0 : open_.back().indent;
    Field field;
    field.line = line_;
    field.name = words[0];
    field.array = words[1].starts_with("[]");
    field.type = words[1].substr(field.array ? 2 : 0);
    if (!parse_versions(words[2], field.versions) || field.versions.empty())
      return wrong("field {}: '{}' is no range of versions", field.name, words[2]);
    TRY_VOID(read_options(field, words));
    Struct* parent = open_.empty() ? &message_.root : &open_.back().description;
    if (indent > expected) {   // the first field of a struct that the line before has named
      auto& fields = parent->fields;
      if (fields.empty() || is_primitive(fields.back().type) || indent != expected + 2)
        return wrong("field {} is indented by {}, but the line before opens no struct", field.name, indent);
      open_.push_back({Struct{fields.back().type, {}}, indent});
      parent = &open_.back().description;
    }
    parent->fields.push_back(std::move(field));
    return {};
  }

  Result<void> read_options(Field& field, const std::vector<std::string_view>& words) {
    for (size_t i = 3; i < words.size(); ++i) {
      const std::string_view word = words[i];
      const std::string_view value = i + 1 < words.size() ? words[i + 1] : "";
      if (word == "ignorable") {
        field.ignorable = true;
      } else if (word == "key") {
        field.map_key = true;
      } else if (word == "nullable") {
        if (!parse_versions(value, field.nullable)) return wrong("field {}: nullable '{}' is no range", field.name, value);
        ++i;
      } else if (word == "tag") {
        uint32_t tag;
        if (!parse_number(value, tag)) return wrong("field {}: tag '{}' is not a number", field.name, value);
        field.tag = tag;
        ++i;
      } else if (word == "default") {
        if (value.empty()) return wrong("field {}: default needs a value", field.name);
        field.default_text = value;
        ++i;
      } else if (word == "flexible") {
        if (value != "none") return wrong("field {}: only 'flexible none' is known", field.name);
        field.never_flexible = true;
        ++i;
      } else {
        return wrong("field {}: unknown option '{}'; known are nullable, tag, default, ignorable, key, flexible", field.name, word);
      }
    }
    return {};
  }

  void close() {
    message_.structs.push_back(std::move(open_.back().description));
    open_.pop_back();
  }

  // A struct comes after those that its fields use, so that C++ can define them in this order.
  Result<void> order_structs() {
    std::vector<Struct> ordered;
    std::vector<Struct> waiting = std::move(message_.structs);
    std::set<std::string> known;
    while (!waiting.empty()) {
      const size_t before = waiting.size();
      for (size_t i = 0; i < waiting.size();) {
        const auto& fields = waiting[i].fields;
        const bool ready = std::all_of(fields.begin(), fields.end(),
                                       [&](const Field& field) { return is_primitive(field.type) || known.contains(field.type); });
        if (!ready) {
          ++i;
          continue;
        }
        if (!known.insert(waiting[i].name).second) return wrong("struct {} is described twice", waiting[i].name);
        ordered.push_back(std::move(waiting[i]));
        waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(i));
      }
      if (waiting.size() == before) return wrong("struct {} uses a type that is not described, or itself", waiting.front().name);
    }
    for (const auto& field : message_.root.fields)
      if (!is_primitive(field.type) && !known.contains(field.type)) return wrong("field {}: type {} is not described", field.name, field.type);
    message_.structs = std::move(ordered);
    return {};
  }

  Result<void> check() {
    TRY_VOID(check(message_.root));
    for (const auto& each : message_.structs) {
      if (each.name == message_.name) return wrong("struct {} has the name of its message", each.name);
      TRY_VOID(check(each));
    }
    return {};
  }

  Result<void> check(const Struct& structure) {
    std::set<std::string> names;
    std::set<uint32_t> tags;
    for (const auto& field : structure.fields) {
      line_ = field.line;
      if (!names.insert(field.name).second) return wrong("field {} is there twice", field.name);
      if (field.tag && !tags.insert(*field.tag).second) return wrong("field {}: tag {} is taken", field.name, *field.tag);
      if (field.tag && !message_.flexible.contains(field.versions))
        return wrong("field {}: tagged in versions that are not flexible", field.name);
      if (field.default_text == "null" && field.nullable.empty()) return wrong("field {}: default null, but never nullable", field.name);
      if (tags.size() > 64) return wrong("field {}: more than 64 tags in a struct are not supported", field.name);
      if (field.array && field.type == "bool") return wrong("field {}: arrays of bool are not supported", field.name);
      if (field.type == "records" && (field.tag || field.array)) return wrong("field {}: records are neither tagged nor in arrays", field.name);
      TRY_VOID(check_default(field));
      const bool scalar = is_primitive(field.type) && field.type != "string" && field.type != "bytes" && field.type != "records";
      if (scalar && !field.array && !field.nullable.empty()) return wrong("field {}: {} cannot be null", field.name, field.type);
      const std::string name = snake_case(field.name);
      if (name == "info" || name == "layout" || name == "unknown_tagged_fields") return wrong("field {}: the name {} is ours", field.name, name);
    }
    return {};
  }

  Result<void> check_default(const Field& field) {
    if (!field.default_text || *field.default_text == "null") return {};
    const std::string_view text = *field.default_text;
    if (field.array || !is_primitive(field.type) || field.type == "string" || field.type == "bytes" || field.type == "records" ||
        field.type == "uuid" || field.type == "float64")
      return wrong("field {}: a {} begins empty or null; '{}' is not supported", field.name, field.array ? "list" : field.type, text);
    int64_t number;
    const bool hexadecimal = text.starts_with("0x");
    const std::string_view digits = text.substr(hexadecimal ? 2 : 0);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, hexadecimal ? 16 : 10);
    const bool good = field.type == "bool" ? text == "true" || text == "false" : error == std::errc() && end == digits.data() + digits.size();
    if (!good) return wrong("field {}: default '{}' is no value of {}", field.name, text, field.type);
    return {};
  }

  struct Open {
    Struct description;
    size_t indent;
  };

  std::string_view file_;
  std::string_view text_;
  int line_ = 0;
  Message message_;
  std::vector<Open> open_;
};

}  // namespace

bool is_primitive(std::string_view type) { return std::find(primitives.begin(), primitives.end(), type) != primitives.end(); }

std::string snake_case(std::string_view name) {
  static const std::set<std::string_view> keywords = {"operator", "default", "class", "private", "public", "delete", "new", "namespace",
                                                      "register", "template", "union", "enum", "struct", "switch", "this", "static",
                                                      "export", "protected", "explicit", "friend", "int", "bool", "float", "double"};
  std::string result;
  const auto upper = [&](size_t i) { return i < name.size() && name[i] >= 'A' && name[i] <= 'Z'; };
  for (size_t i = 0; i < name.size(); ++i) {
    const bool in_kraft = name.substr(i > 0 ? i - 1 : 0).starts_with("KRaft");
    if (upper(i) && i > 0 && !in_kraft && (!upper(i - 1) || (i + 1 < name.size() && !upper(i + 1)))) result += '_';
    result += upper(i) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return keywords.contains(result) ? result + '_' : result;
}

Result<Message> parse(std::string_view file, std::string_view text) { return Parser(file, text).run(); }

}  // namespace castellan::schemac

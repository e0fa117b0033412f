// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Java's .properties text, the form of server.properties, of --command-config files and of meta.properties: one `key=value`, `key:value` or
// `key value` a line, `#` and `!` comments, a backslash that joins lines and starts escapes (\t \n \r \f \uXXXX, any other character is itself).
// Bytes above 127 are taken as they are (UTF-8); Java would read them as Latin-1.
//
//   auto file = parse_properties("node.id = 1\n", "server.properties");
//   file->at("node.id") == "1"
//
// Pure. The last of two lines with one key wins, as in Java.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace castellan::config {

// Keys and values as text, in the order of the keys: a properties file, or the overrides of one resource in the image.
using ConfigMap = std::map<std::string, std::string, std::less<>>;

// Fails (INVALID_CONFIG) only on a malformed \uXXXX; `name` is the file, for the message.
Result<ConfigMap> parse_properties(std::string_view text, std::string_view name);

// One `key=value` line with Java's escapes, with its newline; what parse_properties reads back.
std::string format_property(std::string_view key, std::string_view value);

}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A message description as it lies in schema/*.msg (the form is on the page doc/formats/schema.md), parsed and checked.
//
//   auto message = schemac::parse("MetadataRequest.msg", text);     // Result: file, line and what is wrong with it

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace castellan::schemac {

// Versions first to last, both inclusive; "0+" ends at `open`, "none" is empty.
struct Versions {
  static constexpr int16_t open = 32767;
  int16_t first = 0;
  int16_t last = -1;

  bool empty() const { return last < first; }
  bool contains(const Versions& other) const { return first <= other.first && other.last <= last; }
};

struct Field {
  std::string name;            // Kafka's, e.g. "TopicId"
  std::string type;            // element type without "[]": a primitive or the name of a struct
  bool array = false;
  Versions versions;
  Versions nullable;
  std::optional<uint32_t> tag;                   // a tagged field in all its versions
  std::optional<std::string> default_text;       // as written; "null" for nullable fields
  bool ignorable = false;
  bool map_key = false;
  bool never_flexible = false;                   // "flexible none": the client id of the request header
  int line = 0;
};

struct Struct {
  std::string name;
  std::vector<Field> fields;
};

struct Message {
  std::string kind;            // request, response, header, metadata, coordinator-key, coordinator-value, data
  std::string name;
  std::optional<int16_t> key;  // API key or record type
  Versions versions;
  Versions flexible;
  bool latest_unstable = false;
  std::vector<std::string> listeners;
  std::string topic;           // for records of a topic: which one
  Struct root;
  std::vector<Struct> structs; // each after those that it uses

  bool record_of(std::string_view topic_name) const { return topic == topic_name; }
};

Result<Message> parse(std::string_view file, std::string_view text);

bool is_primitive(std::string_view type);
// "TopicId" -> "topic_id", "KRaftVersion" -> "kraft_version"; C++ keywords get a trailing underscore.
std::string snake_case(std::string_view name);

}  // namespace castellan::schemac

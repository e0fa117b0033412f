// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The tables that schemac writes for every message: one FieldInfo per field, with its place in the C++ struct. Encode,
// decode, JSON and the like are written once and read these tables (encode.cc, decode.cc, json.cc), so a message costs
// a table instead of thousands of lines of code. All tables are constants of the program; nothing here is owned.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace castellan::wire {

// Both ends inclusive; 32767 is "and all later ones"; first > last is "none".
struct VersionRange {
  int16_t first = 0;
  int16_t last = -1;

  constexpr bool contains(int16_t version) const { return first <= version && version <= last; }
  constexpr bool empty() const { return last < first; }
  friend bool operator==(const VersionRange&, const VersionRange&) = default;
};

enum class FieldKind : uint8_t { BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID, STRING, BYTES, RECORDS, STRUCT };

// A std::vector<T> or std::optional<T> seen without its T.
struct VectorOperations {
  size_t element_size;
  size_t (*count)(const void* vector);
  const std::byte* (*data)(const void* vector);
  std::byte* (*resize)(void* vector, size_t count);   // answers data
  void* (*append)(void* vector);                      // answers the new element, default constructed
};

struct OptionalOperations {
  const void* (*get)(const void* optional);           // null when it holds nothing
  void* (*emplace)(void* optional);                   // default constructs, answers the value
  void (*reset)(void* optional);
};

template <class T>
inline constexpr VectorOperations vector_operations = {
    sizeof(T),
    [](const void* vector) { return static_cast<const std::vector<T>*>(vector)->size(); },
    [](const void* vector) { return reinterpret_cast<const std::byte*>(static_cast<const std::vector<T>*>(vector)->data()); },
    [](void* vector, size_t count) {
      static_cast<std::vector<T>*>(vector)->resize(count);
      return reinterpret_cast<std::byte*>(static_cast<std::vector<T>*>(vector)->data());
    },
    [](void* vector) -> void* { return &static_cast<std::vector<T>*>(vector)->emplace_back(); },
};

template <class T>
inline constexpr OptionalOperations optional_operations = {
    [](const void* optional) -> const void* {
      const auto& value = *static_cast<const std::optional<T>*>(optional);
      return value ? std::addressof(*value) : nullptr;
    },
    [](void* optional) -> void* { return std::addressof(static_cast<std::optional<T>*>(optional)->emplace()); },
    [](void* optional) { static_cast<std::optional<T>*>(optional)->reset(); },
};

struct StructInfo;

struct FieldInfo {
  std::string_view name;                          // "topicId", as Kafka prints it in JSON
  uint32_t offset;
  FieldKind kind;                                 // of an element, when it is an array
  bool ignorable = false;                         // may be dropped in versions that lack it, whatever its value
  bool map_key = false;
  bool never_flexible = false;                    // keeps the classic length form in flexible versions
  bool default_null = false;
  bool tagged = false;                            // in all its versions
  uint32_t tag = 0;
  VersionRange versions;
  VersionRange nullable = {};
  const StructInfo* structure = nullptr;          // for STRUCT
  const VectorOperations* vector = nullptr;       // for arrays
  const OptionalOperations* optional = nullptr;   // for fields that are std::optional in C++
  int64_t default_number = 0;                     // of bool and integer fields; all else begins empty or zero
};

struct StructInfo {
  std::string_view name;
  std::span<const FieldInfo> fields;
  std::span<const uint16_t> tagged;               // indexes of the tagged fields, by rising tag
  uint32_t unknown_tagged_fields;                 // offset of the std::vector<RawTaggedField>
};

enum class MessageType : uint8_t { REQUEST, RESPONSE, HEADER, METADATA, COORDINATOR_KEY, COORDINATOR_VALUE, DATA };

struct MessageInfo {
  std::string_view name;
  MessageType type;
  int16_t key;                                    // API key or record type; -1 where there is none
  VersionRange valid;
  VersionRange flexible;
  bool latest_unstable;
  std::string_view topic;                         // of records: the topic that they are written to
  const StructInfo* root;
  std::shared_ptr<void> (*create)();              // a default message, for code that knows only this table

  bool is_flexible(int16_t version) const { return flexible.contains(version); }
};

// Every message, ordered by name.
std::span<const MessageInfo* const> all_messages();
// Null when there is none of this name.
const MessageInfo* find_message(std::string_view name);

}  // namespace castellan::wire

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What every generated message header needs: the C++ types of fields, and the names of the tables that describe a
// message (wire/tables.h). A generated message is a plain struct with Kafka's defaults:
//
//   wire::MetadataRequest request;
//   request.topics.emplace().push_back({.name = "orders"});
//   request.allow_auto_topic_creation = false;
//
// A field that is nullable in any version is a std::optional; a version that does not allow null refuses it when the
// message is encoded or decoded. Nested structs are named as in Kafka, inside the message. A message owns its data,
// but for Records.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/uuid.h"
#include "wire/records.h"

namespace castellan::wire {

struct MessageInfo;   // wire/tables.h
struct StructInfo;

// A tagged field that this version of the software does not know: kept as it came and written back (KIP-482).
struct RawTaggedField {
  uint32_t tag = 0;
  Bytes bytes;

  friend bool operator==(const RawTaggedField&, const RawTaggedField&) = default;
};

}  // namespace castellan::wire

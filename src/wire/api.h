// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The table of Kafka's APIs: key, name, versions, listeners and the messages. What a node really answers in
// ApiVersions is the node's decision; this is what Apache Kafka 4.4 declares.
//
//   const ApiInfo* api = find_api(header.request_api_key);
//   if (!api || !api->valid.contains(header.request_api_version)) ...

#pragma once

#include <span>
#include <string_view>

#include "wire/api_key.h"
#include "wire/tables.h"

namespace castellan::wire {

enum Listener : uint8_t { LISTENER_BROKER = 1, LISTENER_CONTROLLER = 2 };

struct ApiInfo {
  ApiKey key;
  std::string_view name;           // "Metadata"
  VersionRange valid;
  VersionRange flexible;
  bool latest_unstable;            // the last version is not for clients unless unstable.api.versions.enable
  uint8_t listeners;               // of Listener
  const MessageInfo* request;
  const MessageInfo* response;

  // Versions of the headers, KIP-482. The header of an ApiVersions response stays at 0, so that a client that does not
  // know the node yet can read it.
  int16_t request_header_version(int16_t version) const { return flexible.contains(version) ? 2 : 1; }
  int16_t response_header_version(int16_t version) const { return key != ApiKey::API_VERSIONS && flexible.contains(version) ? 1 : 0; }
};

// Ordered by key.
std::span<const ApiInfo> all_apis();
// Null for a key that Kafka does not have (any more).
const ApiInfo* find_api(int16_t key);
inline const ApiInfo* find_api(ApiKey key) { return find_api(static_cast<int16_t>(key)); }

}  // namespace castellan::wire

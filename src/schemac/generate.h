// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// From parsed messages to C++: a header with plain structs per message, and the tables that the wire library walks.

#pragma once

#include <string>
#include <vector>

#include "schemac/schema.h"

namespace castellan::schemac {

// wire/messages/<name>.h
std::string header_of(const Message& message);
// The tables of one message, for a .cc that includes its header and wire/tables.h.
std::string tables_of(const Message& message);
// The list of all messages and the table of APIs. `messages` is ordered by name; those without versions are APIs that
// Kafka has removed, of which only the name and key remain.
std::string registry_of(const std::vector<Message>& messages);
// wire/api_key.h: enum ApiKey.
std::string api_key_header(const std::vector<Message>& messages);
// wire/any_metadata_record.h: the variant of all records of __cluster_metadata.
std::string metadata_variant_header(const std::vector<Message>& messages);

}  // namespace castellan::schemac

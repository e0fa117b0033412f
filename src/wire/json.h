// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Messages as JSON in the form that Kafka's tools print and take (dump-log, request logs, --initial-... files): names in
// camelCase, ids as text, bytes in base64, null for null; a tagged field only where it is not the default; unknown tagged
// fields not at all. The order of the fields is that of the schema.
//
//   TRY(auto json, to_json(record, version));  json.dump();

#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "wire/record_frame.h"
#include "wire/tables.h"

namespace castellan::wire {

// What stands for a records field: EMPTY prints "" (as Kafka's tools do), SIZE prints its size under "<name>SizeInBytes"
// (as Kafka's request log does).
enum class RecordsInJson : uint8_t { EMPTY, SIZE };

Result<nlohmann::ordered_json> message_to_json(const MessageInfo& info, const void* message, int16_t version,
                                               RecordsInJson records = RecordsInJson::EMPTY);
// Fields that the version has and that are not tagged must be there; others begin with their default; names that are not
// known are passed over. Records fields take base64. `message` must be in its default state.
Result<void> message_from_json(const MessageInfo& info, const nlohmann::ordered_json& json, int16_t version, void* message);

template <class M>
Result<nlohmann::ordered_json> to_json(const M& message, int16_t version, RecordsInJson records = RecordsInJson::EMPTY) {
  return message_to_json(M::info(), &message, version, records);
}
template <class M>
Result<M> from_json(const nlohmann::ordered_json& json, int16_t version) {
  M message;
  TRY_VOID(message_from_json(M::info(), json, version, &message));
  return message;
}

// {"type":"TOPIC_RECORD","version":0,"data":{...}}, as the dump tool prints a metadata record.
Result<nlohmann::ordered_json> metadata_record_to_json(const DecodedMetadataRecord& record);

// "TOPIC_RECORD" of "TopicRecord".
std::string upper_snake_case(std::string_view name);

}  // namespace castellan::wire

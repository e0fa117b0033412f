// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a request comes in as, and what a handler decides: the records to append and the reply to give once they are
// committed (Kafka's ControllerResult). A handler changes nothing but soft state; image::apply makes the change.
//
// The message of a request or reply is any generated struct, held by its table so that this header needs none of them:
//
//   const auto& request = incoming.as<wire::CreateTopicsRequest>();
//   return {.records = ..., .reply = Reply::of(response)};

#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error_code.h"
#include "base/result.h"
#include "image/metadata_record.h"
#include "wire/api_key.h"
#include "wire/tables.h"

namespace castellan::controller {

using image::MetadataRecord;
using image::MetadataRecords;

struct Request {
  wire::ApiKey api = {};
  int16_t version = 0;
  std::shared_ptr<const void> message;

  template <class M>
  const M& as() const {
    CHECK(M::info().key == static_cast<int16_t>(api));
    return *static_cast<const M*>(message.get());
  }
  template <class M>
  static Request of(M message, int16_t version) {
    return {static_cast<wire::ApiKey>(M::info().key), version, std::make_shared<const M>(std::move(message))};
  }
};

struct Reply {
  const wire::MessageInfo* info = nullptr;  // null: there is nothing to answer
  std::shared_ptr<void> message;

  template <class M>
  M& as() const {
    CHECK(info == &M::info());
    return *static_cast<M*>(message.get());
  }
  template <class M>
  static Reply of(M message) {
    return {&M::info(), std::make_shared<M>(std::move(message))};
  }
};

struct ControllerResult {
  MetadataRecords records;
  // All records in one batch, or none. Otherwise they may be cut into several batches.
  bool atomic = false;
  // Released when the last record is committed; without records, when what is appended so far is.
  Reply reply;
  // For the log of the node, one line each.
  std::vector<std::string> notes;
};

// At most so many records come from one request of a user; a batch holds no more.
inline constexpr size_t records_per_request_max = 10'000;

// The records of one batch, with their framing, take no more bytes: the metadata log's limit of 8 MiB less its overhead.
inline constexpr size_t batch_bytes_max = (8 << 20) - (64 << 10);

// Whether the records can be appended as the result asks. Errors: INVALID_REQUEST with the sizes.
Result<void> check_batch_size(const ControllerResult& result);

// Kafka's own words for a code, where an answer has no better ones.
std::string default_message(ErrorCode code);
inline Error error_of(ErrorCode code) { return {code, default_message(code)}; }
inline int16_t number(ErrorCode code) { return static_cast<int16_t>(code); }

// What became of one part of a request (a resource, an entity): its records join the batch, or its answer says why not; too many
// records refuse the part that would go beyond.
template <class Answer>
void take_part(ControllerResult& result, Result<MetadataRecords> records, Answer& answer) {
  if (records && result.records.size() + records->size() > records_per_request_max) records = unexpected(error_of(ErrorCode::POLICY_VIOLATION));
  answer.error_message.reset();
  if (records) {
    std::ranges::move(*records, std::back_inserter(result.records));
  } else {
    answer.error_code = number(records.error().code);
    answer.error_message = records.error().message;
  }
}

template <class M>
void add(MetadataRecords& records, M message, int16_t version = 0) {
  records.push_back({.version = version, .message = std::move(message)});
}

}  // namespace castellan::controller

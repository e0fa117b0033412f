// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/producer_ids.h"

#include <algorithm>

#include "base/planted_fault.h"
#include "controller/brokers.h"
#include "wire/messages/allocate_producer_ids_request.h"
#include "wire/messages/allocate_producer_ids_response.h"

namespace castellan::controller {

ControllerResult allocate_producer_ids(const Context& context, const wire::AllocateProducerIdsRequest& request) {
  constexpr int32_t block_size = 1000;
  wire::AllocateProducerIdsResponse response;
  if (const auto broker = broker_at_epoch(context.image, request.broker_id, request.broker_epoch); !broker) {
    response.error_code = number(broker.error().code);
    return {.reply = Reply::of(std::move(response))};
  }
  const int64_t first = std::max<int64_t>(context.image.next_producer_id, 0);
  if (first > INT64_MAX - block_size) {
    response.error_code = number(ErrorCode::UNKNOWN_SERVER_ERROR);
    return {.reply = Reply::of(std::move(response)), .notes = {"Producer ids are exhausted"}};
  }
  wire::ProducerIdsRecord record;
  record.broker_id = request.broker_id;
  record.broker_epoch = request.broker_epoch;
  record.next_producer_id = first + (planted(Fault::producer_ids_twice) ? 1 : block_size);
  ControllerResult result{.atomic = true};
  add(result.records, std::move(record));
  response.producer_id_start = first;
  response.producer_id_len = block_size;
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace castellan::controller

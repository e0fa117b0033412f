// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// InitProducerId (B44) of an idempotent producer. One with a transactional id is refused until there are transactions.

#include "broker/broker.h"
#include "broker/handlers.h"
#include "broker/producer_ids.h"
#include "wire/messages/init_producer_id_request.h"
#include "wire/messages/init_producer_id_response.h"

namespace castellan::broker {

namespace {

void refuse(Request& request, ErrorCode error) {
  wire::InitProducerIdResponse response;
  response.error_code = static_cast<int16_t>(error);
  response.producer_id = -1;
  response.producer_epoch = -1;
  reply(request, response);
}

}  // namespace

void handle_init_producer_id(Broker& broker, RequestPtr request, wire::InitProducerIdRequest& body) {
  const bool named = body.producer_id >= 0;
  const bool with_epoch = body.producer_epoch >= 0;
  if (named != with_epoch) return refuse(*request, ErrorCode::INVALID_REQUEST);
  if (body.transactional_id) {
    return refuse(*request, body.transactional_id->empty() ? ErrorCode::INVALID_REQUEST : ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  }
  broker.producer_ids().next([request](Result<int64_t> id) {
    if (!id) return refuse(*request, id.error().code);
    wire::InitProducerIdResponse response;
    response.producer_id = *id;
    response.producer_epoch = 0;
    reply(*request, response);
  });
}

}  // namespace castellan::broker

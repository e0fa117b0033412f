// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// SASL on a listener that does not ask for it: the client's configuration does not fit, and is told so.

#include "broker/broker.h"
#include "broker/handlers.h"
#include "wire/messages/sasl_authenticate_request.h"
#include "wire/messages/sasl_authenticate_response.h"
#include "wire/messages/sasl_handshake_request.h"
#include "wire/messages/sasl_handshake_response.h"
#include "wire/messages/streams_group_topology_description_update_request.h"
#include "wire/messages/streams_group_topology_description_update_response.h"

namespace castellan::broker {

void handle_sasl_handshake(Broker&, RequestPtr request, wire::SaslHandshakeRequest&) {
  wire::SaslHandshakeResponse response;
  response.error_code = static_cast<int16_t>(ErrorCode::ILLEGAL_SASL_STATE);
  reply(*request, response);
}

void handle_sasl_authenticate(Broker&, RequestPtr request, wire::SaslAuthenticateRequest&) {
  wire::SaslAuthenticateResponse response;
  response.error_code = static_cast<int16_t>(ErrorCode::ILLEGAL_SASL_STATE);
  response.error_message = "SaslAuthenticate request received after successful authentication";
  reply(*request, response);
}

// Apache Kafka 4.4 lists this API and refuses it: no plugin takes topology descriptions.
void handle_streams_group_topology_description_update(Broker&, RequestPtr request, wire::StreamsGroupTopologyDescriptionUpdateRequest&) {
  wire::StreamsGroupTopologyDescriptionUpdateResponse response;
  response.error_code = static_cast<int16_t>(ErrorCode::UNSUPPORTED_VERSION);
  reply(*request, response);
}

}  // namespace castellan::broker

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/delegation_tokens.h"

#include "wire/messages/create_delegation_token_response.h"
#include "wire/messages/expire_delegation_token_response.h"
#include "wire/messages/renew_delegation_token_response.h"

namespace castellan::controller {

ControllerResult create_delegation_token(const Context& context, int16_t version) {
  wire::CreateDelegationTokenResponse response;
  response.error_code = number(ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED);
  const size_t colon = context.principal.find(':');
  const std::string type = context.principal.substr(0, colon);
  const std::string name = colon == std::string::npos ? std::string() : context.principal.substr(colon + 1);
  response.principal_type = type;
  response.principal_name = name;
  if (version >= 3) {
    response.token_requester_principal_type = type;
    response.token_requester_principal_name = name;
  }
  response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = -1;
  return {.reply = Reply::of(std::move(response))};
}

ControllerResult renew_delegation_token(const Context&) {
  wire::RenewDelegationTokenResponse response;
  response.error_code = number(ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED);
  response.expiry_timestamp_ms = -1;
  return {.reply = Reply::of(std::move(response))};
}

ControllerResult expire_delegation_token(const Context&) {
  wire::ExpireDelegationTokenResponse response;
  response.error_code = number(ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED);
  response.expiry_timestamp_ms = -1;
  return {.reply = Reply::of(std::move(response))};
}

}  // namespace castellan::controller

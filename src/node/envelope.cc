// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/envelope.h"

#include <arpa/inet.h>

#include "wire/messages/default_principal_data.h"
#include "wire/messages/describe_quorum_response.h"

namespace castellan::node {

namespace {

using wire::ApiKey;

constexpr int16_t principal_version = 0;

// C426.
constexpr ApiKey forwardable[] = {
    ApiKey::CREATE_TOPICS,           ApiKey::DELETE_TOPICS,                 ApiKey::CREATE_PARTITIONS,
    ApiKey::CREATE_ACLS,             ApiKey::DELETE_ACLS,                   ApiKey::ELECT_LEADERS,
    ApiKey::ALTER_CONFIGS,           ApiKey::INCREMENTAL_ALTER_CONFIGS,     ApiKey::ALTER_PARTITION_REASSIGNMENTS,
    ApiKey::LIST_PARTITION_REASSIGNMENTS, ApiKey::ALTER_CLIENT_QUOTAS,      ApiKey::ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey::UPDATE_FEATURES,         ApiKey::UNREGISTER_BROKER,             ApiKey::UNREGISTER_CONTROLLER,
    ApiKey::DESCRIBE_QUORUM,         ApiKey::ADD_RAFT_VOTER,                ApiKey::REMOVE_RAFT_VOTER,
    ApiKey::CREATE_DELEGATION_TOKEN, ApiKey::RENEW_DELEGATION_TOKEN,        ApiKey::EXPIRE_DELEGATION_TOKEN,
};

// DefaultPrincipalData behind its version (C52).
Bytes encode_principal(const std::string& principal) {
  wire::DefaultPrincipalData data;
  const size_t colon = principal.find(':');
  data.type = principal.substr(0, colon);
  data.name = colon == std::string::npos ? "" : principal.substr(colon + 1);
  wire::Writer writer;
  writer.put(principal_version);
  const auto encoded = wire::encode(data, principal_version, writer);
  CHECK(encoded.has_value(), "{}", encoded ? "" : encoded.error().message);
  return writer.take_bytes();
}

Result<std::string> decode_principal(BytesView bytes) {
  const auto refuse = [](std::string_view why) { return fail(ErrorCode::PRINCIPAL_DESERIALIZATION_FAILURE, "the principal of an envelope: {}", why); };
  if (bytes.size() < 2) return refuse("no version");
  if (const auto version = load_big_endian<int16_t>(bytes.data()); version != principal_version) return refuse(fmt::format("version {}", version));
  const auto data = wire::decode_exactly<wire::DefaultPrincipalData>(principal_version, bytes.subspan(2), wire::DecodeMode::LENIENT);
  if (!data) return refuse(data.error().message);
  return fmt::format("{}:{}", data->type, data->name);
}

Bytes encode_address(const std::string& host) {
  Bytes bytes(16);
  if (::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) {
    bytes.resize(4);
  } else if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1) {
    bytes = {127, 0, 0, 1};  // a request of this process
  }
  return bytes;
}

Result<std::string> decode_address(BytesView bytes) {
  if (bytes.size() != 4 && bytes.size() != 16) return fail(ErrorCode::INVALID_REQUEST, "a client address of {} bytes in an envelope", bytes.size());
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
  return std::string(text);
}

bool not_leader(const Wrapped& wrapped, BytesView answer) {
  if (wrapped.start.api->key != ApiKey::DESCRIBE_QUORUM) return false;
  const auto response = wire::decode_exactly<wire::DescribeQuorumResponse>(wrapped.start.version, answer, wire::DecodeMode::LENIENT);
  if (!response) return false;
  const auto says_so = [](int16_t code) { return code == static_cast<int16_t>(ErrorCode::NOT_LEADER_OR_FOLLOWER); };
  if (says_so(response->error_code)) return true;
  for (const auto& topic : response->topics) {
    for (const auto& partition : topic.partitions) {
      if (says_so(partition.error_code)) return true;
    }
  }
  return false;
}

}  // namespace

Bytes wrap(const broker::ControllerRequest& call) {
  wire::EnvelopeRequest envelope;
  auto framed = wire::frame_request(*wire::find_api(call.api_key), call.api_version, 0, call.client_id, call.body);
  CHECK(framed.has_value(), "{}", framed ? "" : framed.error().message);
  envelope.request_data.assign(framed->begin() + 4, framed->end());  // without the size
  envelope.request_principal = encode_principal(call.principal);
  envelope.client_host_address = encode_address(call.client_host);
  auto body = wire::encode_to_bytes(envelope, envelope_version);
  CHECK(body.has_value(), "{}", body ? "" : body.error().message);
  return std::move(*body);
}

Result<Bytes> unwrap_answer(const broker::ControllerRequest& call, BytesView envelope_body) {
  TRY(auto envelope, wire::decode_exactly<wire::EnvelopeResponse>(envelope_version, envelope_body, wire::DecodeMode::LENIENT));
  const auto error = static_cast<ErrorCode>(envelope.error_code);
  if (error == ErrorCode::NOT_CONTROLLER || error == ErrorCode::UNSUPPORTED_VERSION) return fail(error, "the controller answered {}", error_name(error));
  if (error != ErrorCode::NONE || !envelope.response_data) return fail(ErrorCode::UNKNOWN_SERVER_ERROR, "the controller answered {}", error_name(error));
  wire::Reader reader(*envelope.response_data);
  TRY_VOID(wire::read_response_header(*wire::find_api(call.api_key), call.api_version, reader));
  return Bytes(reader.rest().begin(), reader.rest().end());
}

Result<Wrapped> unwrap(const wire::EnvelopeRequest& envelope) {
  Wrapped wrapped;
  TRY(wrapped.request.principal, decode_principal(envelope.request_principal ? BytesView(*envelope.request_principal) : BytesView{}));
  TRY(wrapped.request.client_host, decode_address(envelope.client_host_address));
  wire::Reader reader(envelope.request_data);
  auto start = wire::read_request_header(reader);
  if (!start || !start->version_supported) return fail(ErrorCode::UNSUPPORTED_VERSION, "the request in an envelope: {}", start ? "its version" : start.error().message);
  wrapped.start = std::move(*start);
  if (std::ranges::find(forwardable, wrapped.start.api->key) == std::end(forwardable)) {
    return fail(ErrorCode::INVALID_REQUEST, "{} is not passed on in an envelope", wrapped.start.api->name);
  }
  wrapped.request.api_key = static_cast<int16_t>(wrapped.start.api->key);
  wrapped.request.api_version = wrapped.start.version;
  wrapped.request.client_id = wrapped.start.client_id;
  wrapped.request.body.assign(reader.rest().begin(), reader.rest().end());
  return wrapped;
}

wire::EnvelopeResponse answer_envelope(const Wrapped& wrapped, const Result<Bytes>& answer) {
  wire::EnvelopeResponse envelope;
  if (!answer || not_leader(wrapped, *answer)) {
    envelope.error_code = static_cast<int16_t>(answer ? ErrorCode::NOT_CONTROLLER : answer.error().code);
    return envelope;
  }
  wire::Writer writer(answer->size() + 8);
  wire::write_response_header(*wrapped.start.api, wrapped.start.version, wrapped.start.correlation_id, writer);
  writer.put_bytes(*answer);
  envelope.response_data = writer.take_bytes();
  return envelope;
}

}  // namespace castellan::node

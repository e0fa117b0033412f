// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/envelope.h"

#include <gtest/gtest.h>

#include "wire/messages/create_topics_request.h"
#include "wire/messages/describe_quorum_response.h"

namespace castellan::node {
namespace {

broker::ControllerRequest create_topics() {
  return {.api_key = 19, .api_version = 7, .body = {1, 0, 0, 0, 9, 0, 0}, .principal = "User:al:ice", .client_host = "10.1.2.3", .client_id = "tool"};
}

wire::EnvelopeRequest decoded(const Bytes& body) { return *wire::decode_exactly<wire::EnvelopeRequest>(envelope_version, body); }

TEST(Envelope, carries_the_request_the_principal_and_the_address) {
  for (const auto* host : {"10.1.2.3", "2001:db8::1"}) {
    auto call = create_topics();
    call.client_host = host;
    const auto wrapped = unwrap(decoded(wrap(call)));
    ASSERT_TRUE(wrapped) << wrapped.error().message;
    EXPECT_EQ(wrapped->request.api_key, 19);
    EXPECT_EQ(wrapped->request.api_version, 7);
    EXPECT_EQ(wrapped->request.body, call.body);
    EXPECT_EQ(wrapped->request.principal, "User:al:ice");
    EXPECT_EQ(wrapped->request.client_host, host);
    EXPECT_EQ(wrapped->request.client_id, "tool");
  }
}

TEST(Envelope, an_answer_comes_back_as_the_controller_gave_it) {
  const auto call = create_topics();
  const auto wrapped = *unwrap(decoded(wrap(call)));
  const Bytes answer{1, 2, 3};
  const auto body = *wire::encode_to_bytes(answer_envelope(wrapped, answer), envelope_version);
  EXPECT_EQ(*unwrap_answer(call, body), answer);
}

ErrorCode error_of(ErrorCode of_envelope) {
  wire::EnvelopeResponse response;
  response.error_code = static_cast<int16_t>(of_envelope);
  return unwrap_answer(create_topics(), *wire::encode_to_bytes(response, envelope_version)).error().code;
}

TEST(Envelope, errors_of_the_envelope_are_told_apart) {
  EXPECT_EQ(error_of(ErrorCode::NOT_CONTROLLER), ErrorCode::NOT_CONTROLLER);
  EXPECT_EQ(error_of(ErrorCode::UNSUPPORTED_VERSION), ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(error_of(ErrorCode::CLUSTER_AUTHORIZATION_FAILED), ErrorCode::UNKNOWN_SERVER_ERROR);
  EXPECT_EQ(error_of(ErrorCode::NONE), ErrorCode::UNKNOWN_SERVER_ERROR) << "no data";
}

TEST(Envelope, what_is_malformed_is_refused_in_the_order_of_the_parts) {
  auto envelope = decoded(wrap(create_topics()));
  envelope.request_data = {0, 3, 0, 12, 0, 0, 0, 1, 255, 255, 0};  // Metadata
  EXPECT_EQ(unwrap(envelope).error().code, ErrorCode::INVALID_REQUEST);
  envelope.request_data = {0, 19, 0, 99};
  EXPECT_EQ(unwrap(envelope).error().code, ErrorCode::UNSUPPORTED_VERSION);
  envelope.client_host_address = {1, 2};
  EXPECT_EQ(unwrap(envelope).error().code, ErrorCode::INVALID_REQUEST);
  envelope.request_principal = Bytes{0, 7, 1};
  EXPECT_EQ(unwrap(envelope).error().code, ErrorCode::PRINCIPAL_DESERIALIZATION_FAILURE);
  envelope.request_principal.reset();
  EXPECT_EQ(unwrap(envelope).error().code, ErrorCode::PRINCIPAL_DESERIALIZATION_FAILURE);
}

TEST(Envelope, a_leader_that_is_none_any_more_is_told_by_the_envelope) {
  auto wrapped = *unwrap(decoded(wrap(create_topics())));
  EXPECT_EQ(answer_envelope(wrapped, fail(ErrorCode::NOT_CONTROLLER, "")).error_code, static_cast<int16_t>(ErrorCode::NOT_CONTROLLER));
  wrapped.start = {.api = wire::find_api(wire::ApiKey::DESCRIBE_QUORUM), .version = 2};
  wire::DescribeQuorumResponse response;
  response.topics.emplace_back().partitions.emplace_back().error_code = static_cast<int16_t>(ErrorCode::NOT_LEADER_OR_FOLLOWER);
  const auto envelope = answer_envelope(wrapped, *wire::encode_to_bytes(response, 2));
  EXPECT_EQ(envelope.error_code, static_cast<int16_t>(ErrorCode::NOT_CONTROLLER));
  EXPECT_FALSE(envelope.response_data);
}

}  // namespace
}  // namespace castellan::node

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/peer_versions.h"

#include <gtest/gtest.h>

#include "wire/codec.h"
#include "wire/messages/api_versions_response.h"

namespace castellan::quorum {
namespace {

constexpr int16_t fetch = 1, vote = 52, update_voter = 82;
const raft::Endpoint peer{"peer", 9093}, other{"other", 9093};

Bytes answer(std::initializer_list<std::pair<int16_t, int16_t>> newest, ErrorCode error = ErrorCode::NONE) {
  wire::ApiVersionsResponse response;
  response.error_code = static_cast<int16_t>(error);
  for (const auto& [key, version] : newest) {
    auto& api = response.api_keys.emplace_back();
    api.api_key = key;
    api.max_version = version;
  }
  return *wire::encode_to_bytes(response, api_versions_version);
}

TEST(PeerVersions, nobody_is_asked_who_answers) {
  PeerVersions versions;
  EXPECT_FALSE(versions.must_ask(peer));
  EXPECT_EQ(versions.version(peer, fetch, 18), 18);
  versions.note_failure(peer, ErrorCode::REQUEST_TIMED_OUT);
  versions.note_failure(peer, ErrorCode::BROKER_NOT_AVAILABLE);
  EXPECT_FALSE(versions.must_ask(peer));
}

TEST(PeerVersions, who_ends_the_connection_is_asked_and_spoken_to_in_its_versions) {
  PeerVersions versions;
  versions.note_failure(peer, ErrorCode::NETWORK_EXCEPTION);
  EXPECT_TRUE(versions.must_ask(peer));
  EXPECT_FALSE(versions.must_ask(other));
  ASSERT_TRUE(versions.learn(peer, answer({{fetch, 17}, {vote, 7}})));
  EXPECT_FALSE(versions.must_ask(peer));
  EXPECT_EQ(versions.version(peer, fetch, 18), 17);
  EXPECT_EQ(versions.version(peer, vote, 2), 2);
  EXPECT_EQ(versions.version(peer, update_voter, 0), std::nullopt);
  EXPECT_EQ(versions.version(other, fetch, 18), 18);
}

TEST(PeerVersions, what_was_learned_holds_until_a_request_fails) {
  PeerVersions versions;
  for (const auto error : {ErrorCode::NETWORK_EXCEPTION, ErrorCode::BROKER_NOT_AVAILABLE}) {
    ASSERT_TRUE(versions.learn(peer, answer({{fetch, 17}})));
    versions.note_failure(peer, ErrorCode::REQUEST_TIMED_OUT);
    EXPECT_FALSE(versions.must_ask(peer));
    versions.note_failure(peer, error);
    EXPECT_TRUE(versions.must_ask(peer));
  }
}

TEST(PeerVersions, an_answer_that_cannot_be_used_is_an_error_and_changes_nothing) {
  PeerVersions versions;
  versions.note_failure(peer, ErrorCode::NETWORK_EXCEPTION);
  EXPECT_FALSE(versions.learn(peer, answer({}, ErrorCode::UNSUPPORTED_VERSION)));
  EXPECT_FALSE(versions.learn(peer, to_bytes(std::string("x"))));
  EXPECT_TRUE(versions.must_ask(peer));
}

}  // namespace
}  // namespace castellan::quorum

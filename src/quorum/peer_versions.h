// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// In which version of each API a peer is asked. Everybody is taken to know the newest versions, so a native quorum never asks; a peer that ends a
// connection instead of answering may be older, and is asked for its versions (ApiVersions) before the next request. What was learned holds until
// a request fails: then another program may run at that address.
//
//   newest --no answer--> to ask --ApiVersions answered--> newest, or learned
//                           ^                                          |
//                           +-------------- a request fails -----------+
//
// By address, since bootstrap servers have no ids. Pure; one thread.

#pragma once

#include <map>
#include <optional>

#include "base/bytes.h"
#include "base/error_code.h"
#include "base/result.h"
#include "raft/types.h"

namespace castellan::quorum {

// Of the question itself: every peer since Apache Kafka 2.4 can answer it.
inline constexpr int16_t api_versions_version = 3;

class PeerVersions {
 public:
  bool must_ask(const raft::Endpoint& peer) const;
  // The highest version of `api_key`, at most `newest`, that the peer knows; nothing when it does not have the API.
  std::optional<int16_t> version(const raft::Endpoint& peer, int16_t api_key, int16_t newest) const;
  // The body of the answer to ApiVersions.
  Result<void> learn(const raft::Endpoint& peer, BytesView answer);
  // A request was not answered.
  void note_failure(const raft::Endpoint& peer, ErrorCode error);

 private:
  struct Known {
    bool must_ask = false;
    std::optional<std::map<int16_t, raft::VersionRange>> ranges;  // by API key
  };
  std::map<raft::Endpoint, Known> peers_;
};

}  // namespace castellan::quorum

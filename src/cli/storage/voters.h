// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The voters of a new dynamic quorum (KIP-853), as --initial-controllers names them: id@host:port:directory-id, separated by commas.
// Stricter than Kafka, whose tool formats directories that no node can run from: an empty host, a reserved directory id and a directory id
// twice are refused here.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace castellan::cli {

struct InitialVoter {
  std::string host;
  uint16_t port = 0;
  DirectoryId directory_id;

  friend bool operator==(const InitialVoter&, const InitialVoter&) = default;
};

using InitialVoters = std::map<NodeId, InitialVoter>;

// An IPv6 address as Java writes it, without "::"; other text as it is. So nodes that were formatted by either tool have equal voters.
std::string java_host_text(const std::string& host);

// Blanks around an entry and empty entries do not count. INVALID_CONFIG names the entry.
Result<InitialVoters> parse_initial_voters(std::string_view text);

}  // namespace castellan::cli

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// quorum-state: a voter's promises (epoch, vote, leader) in the metadata log's folder, one line of JSON (KIP-595, KIP-853;
// doc/formats/quorum-state.md). Version 0 while kraft.version is 0, version 1 after.

#pragma once

#include <optional>

#include "io/file.h"

namespace castellan::wire {
struct QuorumStateData;
}

namespace castellan::log {

inline constexpr std::string_view quorum_state_name = "quorum-state";

struct QuorumStateFile {
  int16_t version = 1;
  std::shared_ptr<const wire::QuorumStateData> data;
};

// Nothing when the file is absent. Cut, empty or garbage is CORRUPT_MESSAGE, named: a voter must not forget its vote.
Result<std::optional<QuorumStateFile>> read_quorum_state(const io::FileSystem& files, const std::string& folder);
// Durable when it returns.
Result<void> write_quorum_state(io::FileSystem& files, const std::string& folder, const wire::QuorumStateData& data, int16_t version);

}  // namespace castellan::log

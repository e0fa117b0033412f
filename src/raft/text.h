// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Actions and roles in one line each: for traces, dialogues in tests, and the black box.

#pragma once

#include <string>

#include "raft/core.h"

namespace castellan::raft {

std::string to_text(const RequestBody& request);
std::string to_text(const ResponseBody& response);
std::string to_text(const Action& action);
std::string to_text(const VoterSet& voters);
// "Leader epoch 3, log [0, 7) synced 7, committed 7".
std::string summary_of(const Core& core);

}  // namespace castellan::raft

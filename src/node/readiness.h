// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Whether a node should be given work, and if not, what is missing, in words for the operator. Ready means: part of a quorum
// that has a leader, the metadata advances, and a broker is registered, caught up and unfenced. Pure.

#pragma once

#include <string>
#include <vector>

#include "quorum/metadata_node.h"

namespace castellan::node {

struct ReadinessFacts {
  quorum::QuorumView view;
  Now now;
  // The quorum writes at least this often, with a margin: its idle interval (metadata.max.idle.interval.ms) and the time that a
  // replica may be behind. Zero: an idle quorum writes nothing, so silence says nothing.
  Duration silence_allowed{0};
  bool stopping = false;
  std::string broker_lacks;  // the broker's own word, empty when nothing is missing or the node is none
};

// Empty: ready.
std::vector<std::string> what_is_missing(const ReadinessFacts& facts);

// How long the metadata may stand still: see ReadinessFacts.
Duration silence_allowed(const config::ServerConfig& config);

}  // namespace castellan::node

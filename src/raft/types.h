// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The nouns of the quorum protocol that every file of this library shares: who a replica is, where it listens, and a
// position in the metadata log.

#pragma once

#include <fmt/format.h>

#include <compare>
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"

namespace castellan::raft {

// A replica is a node together with the directory that holds its log (KIP-853): a node whose disk was replaced is another
// replica. A zero directory means "not known", as on the wire.
struct ReplicaKey {
  NodeId id = no_node;
  DirectoryId directory;

  bool has_directory() const { return !directory.value.is_zero(); }
  friend auto operator<=>(const ReplicaKey&, const ReplicaKey&) = default;
};

struct Endpoint {
  std::string host;
  uint16_t port = 0;

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

// By listener name, in upper case.
using Endpoints = std::map<std::string, Endpoint>;

struct VersionRange {
  int16_t min = 0;
  int16_t max = 0;

  bool contains(int16_t version) const { return min <= version && version <= max; }
  friend auto operator<=>(const VersionRange&, const VersionRange&) = default;
};

// kraft.version 0: voters come from the configuration. 1: from the log (KIP-853).
inline constexpr VersionRange kraft_versions{0, 1};

// The end of a log (offset exclusive) and the epoch of the last record before it. Also the id of a snapshot. Logs and
// snapshots are compared by epoch first.
struct LogPosition {
  Offset offset;
  Epoch epoch;

  friend bool operator==(const LogPosition&, const LogPosition&) = default;
  friend std::strong_ordering operator<=>(const LogPosition& a, const LogPosition& b) {
    if (const auto by_epoch = a.epoch <=> b.epoch; by_epoch != 0) return by_epoch;
    return a.offset <=> b.offset;
  }
};
using SnapshotId = LogPosition;

// The checkpoint that `storage format` writes. It is never replicated (KIP-853, "bootstrap snapshot").
inline constexpr SnapshotId bootstrap_snapshot{Offset{0}, Epoch{0}};

// What quorum-state remembers: doc/formats/quorum-state.md.
struct ElectionState {
  Epoch epoch;
  NodeId leader = no_node;
  std::optional<ReplicaKey> voted;

  friend bool operator==(const ElectionState&, const ElectionState&) = default;
};

}  // namespace castellan::raft

template <>
struct fmt::formatter<castellan::raft::ReplicaKey> : fmt::formatter<std::string_view> {
  auto format(const castellan::raft::ReplicaKey& key, format_context& context) const {
    return fmt::format_to(context.out(), "{}:{}", key.id, key.directory);
  }
};
template <>
struct fmt::formatter<castellan::raft::LogPosition> : fmt::formatter<std::string_view> {
  auto format(const castellan::raft::LogPosition& position, format_context& context) const {
    return fmt::format_to(context.out(), "{}-{}", position.offset, position.epoch);
  }
};

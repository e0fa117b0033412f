// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Strong types for the numbers and ids that are easily confused. Generated messages carry plain integers; they become
// these at the door of a domain library, and plain again on the way out.
//
//   NodeId leader{3};  leader.value;  if (epoch < other.epoch) ...

#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "base/uuid.h"

namespace castellan {

template <class Tag, class T>
struct StrongId {
  T value{};

  constexpr StrongId() = default;
  constexpr explicit StrongId(T v) : value(v) {}

  friend auto operator<=>(const StrongId&, const StrongId&) = default;
  template <class H>
  friend H AbslHashValue(H state, const StrongId& id) {
    return H::combine(std::move(state), id.value);
  }
  // Offsets and epochs count: they may be stepped and moved by plain numbers.
  constexpr StrongId operator+(T n) const requires std::is_integral_v<T> { return StrongId(value + n); }
  constexpr StrongId operator-(T n) const requires std::is_integral_v<T> { return StrongId(value - n); }
  constexpr T operator-(StrongId other) const requires std::is_integral_v<T> { return value - other.value; }
};

using NodeId = StrongId<struct NodeIdTag, int32_t>;            // broker.id or controller id; -1 none
using Epoch = StrongId<struct EpochTag, int32_t>;              // quorum epoch or partition leader epoch
using Offset = StrongId<struct OffsetTag, int64_t>;            // position in a log, in records
using BrokerEpoch = StrongId<struct BrokerEpochTag, int64_t>;  // offset of a broker's registration record
using PartitionIndex = StrongId<struct PartitionIndexTag, int32_t>;
using TopicId = StrongId<struct TopicIdTag, Uuid>;
using DirectoryId = StrongId<struct DirectoryIdTag, Uuid>;
using IncarnationId = StrongId<struct IncarnationIdTag, Uuid>;

inline constexpr NodeId no_node{-1};
inline constexpr DirectoryId directory_migrating{Uuid{0, 0}};
inline constexpr DirectoryId directory_unassigned{Uuid{0, 1}};
inline constexpr DirectoryId directory_lost{Uuid{0, 2}};
inline constexpr TopicId metadata_topic_id{Uuid{0, 1}};
inline constexpr std::string_view metadata_topic_name = "__cluster_metadata";

}  // namespace castellan

template <class Tag, class T>
struct std::hash<castellan::StrongId<Tag, T>> {
  size_t operator()(const castellan::StrongId<Tag, T>& id) const noexcept { return std::hash<T>{}(id.value); }
};

template <>
struct fmt::formatter<castellan::Uuid> : fmt::formatter<std::string_view> {
  auto format(const castellan::Uuid& id, format_context& context) const {
    return fmt::formatter<std::string_view>::format(id.text(), context);
  }
};

template <class Tag, class T>
struct fmt::formatter<castellan::StrongId<Tag, T>> : fmt::formatter<T> {
  auto format(const castellan::StrongId<Tag, T>& id, format_context& context) const {
    return fmt::formatter<T>::format(id.value, context);
  }
};

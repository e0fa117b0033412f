// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the group coordinator asks the metadata: does this topic, this partition exist, and what is its id. The broker
// answers from its current image; tests from a map. Not owned, read only inside a step.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/uuid.h"

namespace castellan::group {

class TopicsView {
 public:
  virtual ~TopicsView() = default;
  // The topic with that id, none when no topic has it.
  virtual std::optional<std::string> topic_name(const Uuid& id) const = 0;
  // Zero when there is no topic of that name.
  virtual Uuid topic_id(std::string_view name) const = 0;
  virtual bool has_partition(std::string_view name, int32_t partition) const = 0;
};

}  // namespace castellan::group

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/acknowledged_checker.h"

#include <fmt/format.h>

#include "image/image.h"

namespace castellan::sim {

void AcknowledgedChecker::deleted(const std::string& name) {
  const auto found = topics_.find(name);
  if (found == topics_.end()) return;
  gone_.insert(found->second);
  topics_.erase(found);
  uncertain_.erase(name);
}

std::optional<std::string> AcknowledgedChecker::check(const image::Image& image) const {
  for (const auto& [name, id] : topics_) {
    const auto* topic = image.topics.by_name(name);
    if (!topic && uncertain_.contains(name)) continue;
    if (!topic) return fmt::format("topic {} was acknowledged and is gone", name);
    if (topic->id != id) return fmt::format("topic {} was acknowledged with id {} and has id {}", name, id, topic->id);
  }
  for (const TopicId id : gone_) {
    if (image.topics.topic(id)) return fmt::format("the deletion of topic id {} was acknowledged and it is there", id);
  }
  return std::nullopt;
}

std::optional<std::string> AcknowledgedChecker::leads(Epoch epoch) {
  if (epoch <= epoch_) return fmt::format("leads in epoch {} after {}", epoch, epoch_);
  epoch_ = epoch;
  return std::nullopt;
}

}  // namespace castellan::sim

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What clients were told, and what must therefore be true ever after: a topic whose creation was acknowledged exists, with the id it was
// given; one whose deletion was acknowledged does not exist under that id; epochs only rise.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/ids.h"

namespace castellan::image {
struct Image;
}

namespace castellan::sim {

class AcknowledgedChecker {
 public:
  void created(const std::string& name, TopicId id) { topics_[name] = id; }
  void deletion_asked(const std::string& name) { uncertain_.insert(name); }
  void deleted(const std::string& name);
  // The first contradiction between the image and what was acknowledged.
  std::optional<std::string> check(const image::Image& image) const;
  // A node that leads again does so in a later epoch.
  std::optional<std::string> leads(Epoch epoch);
  size_t count() const { return topics_.size() + gone_.size(); }

 private:
  std::map<std::string, TopicId> topics_;
  std::set<std::string> uncertain_;  // asked to be deleted, not answered: both outcomes are right
  std::set<TopicId> gone_;
  Epoch epoch_;
};

}  // namespace castellan::sim

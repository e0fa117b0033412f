// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The settings of a topic that has none of its own, as CreateTopics answers them. Working them out walks every key of the server;
// they change only with the dynamic settings of the cluster and of this node, so a controller keeps the last answer.
//
// Owner: the controller, lent by its Context. One thread.

#pragma once

#include <vector>

#include "config/properties.h"
#include "wire/messages/create_topics_response.h"

namespace castellan::controller {

class TopicDefaults {
 public:
  using Configs = std::vector<wire::CreateTopicsResponse::CreatableTopicConfigs>;

  // What `work_out` said for the same dynamic settings the last time.
  template <class WorkOut>
  const Configs& get(const config::ConfigMap& cluster, const config::ConfigMap& broker, WorkOut&& work_out) {
    if (!known_ || cluster != cluster_ || broker != broker_) {
      configs_ = work_out();
      cluster_ = cluster;
      broker_ = broker;
      known_ = true;
    }
    return configs_;
  }

 private:
  bool known_ = false;
  config::ConfigMap cluster_;
  config::ConfigMap broker_;
  Configs configs_;
};

}  // namespace castellan::controller

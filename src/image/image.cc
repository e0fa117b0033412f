// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/image.h"

#include "config/alter.h"

namespace castellan::image {

namespace {

int8_t number(config::ResourceType type) { return static_cast<int8_t>(type); }

}  // namespace

int16_t Features::level(std::string_view feature) const {
  if (feature == metadata_version_feature) return metadata_version ? metadata_version->level() : int16_t{0};
  const auto found = levels.find(feature);
  return found == levels.end() ? int16_t{0} : found->second;
}

const config::ConfigMap& Configs::of(const ConfigResource& resource) const {
  static const config::ConfigMap none;
  const ConfigSettings* found = resources.find(resource);
  return found == nullptr ? none : *found->map;
}

const config::ConfigMap& Configs::of_topic(std::string_view name) const { return of({number(config::ResourceType::TOPIC), std::string(name)}); }
const config::ConfigMap& Configs::of_broker(NodeId id) const { return of({number(config::ResourceType::BROKER), std::to_string(id.value)}); }
const config::ConfigMap& Configs::of_cluster() const { return of({number(config::ResourceType::BROKER), ""}); }
const config::ConfigMap& Configs::of_group(std::string_view name) const { return of({number(config::ResourceType::GROUP), std::string(name)}); }

bool operator==(const Image& a, const Image& b) {
  return a.features == b.features && a.cluster.brokers == b.cluster.brokers && a.cluster.controllers == b.cluster.controllers &&
         a.topics.by_id == b.topics.by_id && a.configs.resources == b.configs.resources && a.client_quotas == b.client_quotas &&
         a.next_producer_id == b.next_producer_id && a.acls == b.acls && a.scram == b.scram && a.delegation_tokens == b.delegation_tokens;
}

}  // namespace castellan::image

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/context.h"

#include <algorithm>

#include "config/table.h"

namespace castellan::controller {

namespace {

// Both keys that the controller resolves have the same name for topics and for brokers.
std::optional<config::Value> dynamic_value(const Context& context, std::string_view topic, std::string_view name) {
  const image::Configs& configs = context.image.configs;
  const config::Key* key = config::find_key(config::Scope::topic, name);
  CHECK(key != nullptr, "{}", name);
  for (const config::ConfigMap* settings : {&configs.of_topic(topic), &configs.of_broker(context.settings.node_id), &configs.of_cluster()}) {
    const auto found = settings->find(name);
    if (found == settings->end()) continue;
    if (auto value = config::parse_value(*key, found->second)) return std::move(*value);
  }
  return std::nullopt;
}

}  // namespace

int64_t effective_integer(const Context& context, std::string_view topic, std::string_view key) {
  if (const auto value = dynamic_value(context, topic, key)) return std::get<int64_t>(*value);
  return context.settings.server->values.integer(key);
}

bool effective_flag(const Context& context, std::string_view topic, std::string_view key) {
  if (const auto value = dynamic_value(context, topic, key)) return std::get<bool>(*value);
  return context.settings.server->values.boolean(key);
}

int32_t effective_min_isr(const Context& context, const image::Topic& topic) {
  const auto configured = static_cast<int32_t>(effective_integer(context, topic.name, "min.insync.replicas"));
  const image::Partition* first = topic.partition(0);
  return first == nullptr ? configured : std::min(configured, static_cast<int32_t>(first->replicas().size()));
}

}  // namespace castellan::controller

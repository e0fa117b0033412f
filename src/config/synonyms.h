// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Which broker key stands behind a topic's or a group's key, and which broker keys are one setting in several units.
//
//   broker_key_of_topic_key("retention.ms")     -> "log.retention.ms"
//   broker_synonyms("log.retention.ms")         -> log.retention.ms, log.retention.minutes, log.retention.hours: the first that is set holds
//
// Pure tables, in Kafka's order (ServerTopicConfigSynonyms, DynamicBrokerConfig.brokerConfigSynonyms).

#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace castellan::config {

std::optional<std::string_view> broker_key_of_topic_key(std::string_view topic_key);
std::optional<std::string_view> broker_key_of_group_key(std::string_view group_key);

// False for what Apache Kafka lets a running broker change and this program does not: the listeners themselves, settings of single listeners, and
// what belongs to SSL and SASL, which it does not have yet.
bool changes_at_run_time(std::string_view broker_key);

// The names under which a broker setting may be given, the strongest first; for most keys only the key itself. A key with a listener prefix
// (listener.name.<name>.<key>) is followed by the bare key.
std::vector<std::string_view> broker_synonyms(std::string_view broker_key);

}  // namespace castellan::config

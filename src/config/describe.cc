// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/describe.h"

#include "config/synonyms.h"
#include "config/topic_config.h"

namespace castellan::config {
namespace {

bool wanted(const Names* names, std::string_view name) { return !names || std::find(names->begin(), names->end(), name) != names->end(); }

// The type of a broker setting, also of one with a listener prefix; nullptr for a key that we do not know.
const Key* broker_key(std::string_view name) {
  if (const Key* key = find_key(Scope::broker, name)) return key;
  return find_key(Scope::broker, broker_synonyms(name).back());
}

// Every place where a broker setting has a value, the strongest first. Kafka leaves out what stands before the name itself: of log.retention.hours
// the synonyms begin there, and a key without a value of its own has none.
std::vector<Synonym> broker_chain(const ServerConfig& server, const DynamicSettings& dynamic, std::string_view name, bool sensitive) {
  std::vector<Synonym> chain;
  auto add = [&](std::string_view synonym, std::optional<std::string> value, Source source) {
    if (sensitive) value.reset();
    chain.push_back({std::string(synonym), std::move(value), source});
  };
  auto names = broker_synonyms(name);
  auto add_all = [&](const ConfigMap& map, Source source) {
    for (std::string_view synonym : names) {
      if (auto found = map.find(synonym); found != map.end()) add(synonym, found->second, source);
    }
  };
  if (changes_at_run_time(name)) {  // else it is set so, but does not hold
    add_all(dynamic.broker, Source::DYNAMIC_BROKER_CONFIG);
    add_all(dynamic.cluster, Source::DYNAMIC_DEFAULT_BROKER_CONFIG);
  }
  add_all(server.given, Source::STATIC_BROKER_CONFIG);
  for (std::string_view synonym : names) {
    const Key* key = find_key(Scope::broker, synonym);
    if (key && key->default_text) add(synonym, std::string(key->default_text), Source::DEFAULT_CONFIG);
  }
  auto own = std::find_if(chain.begin(), chain.end(), [&](const Synonym& synonym) { return synonym.name == name; });
  chain.erase(chain.begin(), own);
  return chain;
}

Entry make_entry(std::string_view name, const Key* key, std::optional<std::string> value, std::vector<Synonym> synonyms) {
  Entry entry;
  entry.name = name;
  entry.type = key ? key->type : Type::UNKNOWN;
  entry.sensitive = !key || key->sensitive();
  if (!entry.sensitive) entry.value = std::move(value);
  entry.source = synonyms.empty() ? Source::DEFAULT_CONFIG : synonyms.front().source;
  entry.synonyms = std::move(synonyms);
  if (key) entry.documentation = key->documentation;
  return entry;
}

std::optional<std::string> text_in_force(const Key& key, const std::string& given) {
  auto value = parse_value(key, given);
  return value ? value_text(*value) : std::optional(given);
}

}  // namespace

std::vector<Entry> describe_topic(const ServerConfig& server, const DynamicSettings& dynamic, const ConfigMap& topic, const Names* names) {
  const ServerConfig effective = server.with_dynamic(dynamic.cluster, dynamic.broker);
  std::vector<Entry> entries;
  for (const Key& key : keys_of(Scope::topic)) {
    auto own = topic.find(key.name);
    if (!wanted(names, key.name) || (key.internal && own == topic.end())) continue;
    auto value = own != topic.end() ? text_in_force(key, own->second) : value_text(broker_value_for_topic(effective, key.name));
    std::vector<Synonym> chain;
    if (auto behind = broker_key_of_topic_key(key.name)) chain = broker_chain(server, dynamic, *behind, key.sensitive());
    if (own != topic.end()) chain.insert(chain.begin(), {std::string(key.name), value, Source::DYNAMIC_TOPIC_CONFIG});
    entries.push_back(make_entry(key.name, &key, value, std::move(chain)));
  }
  return entries;
}

std::vector<Entry> describe_broker(const ServerConfig& server, const DynamicSettings& dynamic, const Names* names) {
  const ServerConfig effective = server.with_dynamic(dynamic.cluster, dynamic.broker);
  std::map<std::string, std::optional<std::string>, std::less<>> values;
  for (const auto* map : {&server.given, &dynamic.cluster, &dynamic.broker}) {
    for (const auto& [name, value] : *map) {  // also those that no table knows
      if (map == &server.given || changes_at_run_time(name)) values[name] = value;
    }
  }
  for (const Key& key : keys_of(Scope::broker)) {
    if (!key.internal || values.contains(key.name)) values.insert_or_assign(std::string(key.name), value_text(effective.values.value(key.name)));
  }
  std::vector<Entry> entries;
  for (auto& [name, value] : values) {
    if (!wanted(names, name)) continue;
    const Key* key = broker_key(name);
    bool sensitive = !key || key->sensitive();
    Entry entry = make_entry(name, key, std::move(value), broker_chain(server, dynamic, name, sensitive));
    const Key* own = find_key(Scope::broker, name);
    entry.read_only = !own || own->dynamic == Dynamic::read_only;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<Entry> describe_cluster(const ConfigMap& cluster, const Names* names) {
  std::vector<Entry> entries;
  for (const auto& [name, text] : cluster) {
    if (!wanted(names, name)) continue;
    const Key* key = broker_key(name);
    Synonym synonym{name, text, Source::DYNAMIC_DEFAULT_BROKER_CONFIG};
    if (!key || key->sensitive()) synonym.value.reset();
    Entry entry = make_entry(name, key, text, {std::move(synonym)});
    const Key* own = find_key(Scope::broker, name);
    entry.read_only = !own || own->dynamic == Dynamic::read_only;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<Entry> describe_group(const ServerConfig& server, const DynamicSettings& dynamic, const ConfigMap& group, const Names* names) {
  const ServerConfig effective = server.with_dynamic(dynamic.cluster, dynamic.broker);
  std::vector<Entry> entries;
  for (const Key& key : keys_of(Scope::group)) {
    auto own = group.find(key.name);
    if (!wanted(names, key.name) || (key.internal && own == group.end())) continue;
    auto behind = broker_key_of_group_key(key.name);
    std::optional<std::string> value;
    if (own != group.end()) {
      value = text_in_force(key, own->second);
    } else if (key.name == "streams.assignor.name") {
      const auto& assignors = effective.values.list(*behind);
      if (!assignors.empty()) value = assignors.front();
    } else {
      value = value_text(behind ? effective.values.value(*behind) : default_value(key));
    }
    std::vector<Synonym> chain;
    if (behind) {
      chain = broker_chain(server, dynamic, *behind, key.sensitive());
    } else if (key.default_text) {
      chain.push_back({std::string(key.name), std::string(key.default_text), Source::DEFAULT_CONFIG});
    }
    if (own != group.end()) chain.insert(chain.begin(), {std::string(key.name), value, Source::DYNAMIC_GROUP_CONFIG});
    entries.push_back(make_entry(key.name, &key, value, std::move(chain)));
  }
  return entries;
}

std::vector<Entry> describe_client_metrics(const ConfigMap& subscription, const Names* names) {
  std::vector<Entry> entries;
  for (const Key& key : keys_of(Scope::client_metrics)) {
    if (!wanted(names, key.name)) continue;
    auto own = subscription.find(key.name);
    auto value = own != subscription.end() ? text_in_force(key, own->second) : value_text(default_value(key));
    std::vector<Synonym> chain;
    if (own != subscription.end()) chain.push_back({std::string(key.name), value, Source::DYNAMIC_CLIENT_METRICS_CONFIG});
    entries.push_back(make_entry(key.name, &key, value, std::move(chain)));
  }
  return entries;
}

}  // namespace castellan::config

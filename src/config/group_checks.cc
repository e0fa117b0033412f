// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/group_checks.h"

namespace castellan::config {
namespace {

// A group's key, and the broker's keys that bound it.
struct Bound {
  std::string_view key;
  std::string_view minimum;  // may be empty
  std::string_view maximum;
};

constexpr Bound bounds[] = {
    {"consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
    {"consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
    {"consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
    {"share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
    {"share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"},
    {"share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"},
    {"share.delivery.count.limit", "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"},
    {"share.partition.max.record.locks", "group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"},
    {"share.assignment.interval.ms", "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"},
    {"streams.heartbeat.interval.ms", "group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
    {"streams.session.timeout.ms", "group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"},
    {"streams.num.standby.replicas", "", "group.streams.max.standby.replicas"},
    {"streams.assignment.interval.ms", "group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
    {"streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms", ""},
    {"streams.num.warmup.replicas", "", "group.streams.max.warmup.replicas"},
};

Result<void> check_bound(const Bound& bound, int64_t value, const Values& broker) {
  int64_t minimum = bound.minimum.empty() ? INT64_MIN : broker.integer(bound.minimum);
  int64_t maximum = bound.maximum.empty() ? INT64_MAX : broker.integer(bound.maximum);
  if (value >= minimum && value <= maximum) return {};
  if (bound.minimum.empty()) return fail(ErrorCode::INVALID_CONFIG, "{} must be less than or equal to {}", bound.key, maximum);
  if (bound.maximum.empty()) return fail(ErrorCode::INVALID_CONFIG, "{} must be greater than or equal to {}", bound.key, minimum);
  return fail(ErrorCode::INVALID_CONFIG, "{} must be in the range {} to {} inclusive.", bound.key, minimum, maximum);
}

}  // namespace

Result<void> validate_group(const ConfigMap& after, const ServerConfig& server) {
  for (const auto& [name, text] : after) {
    if (!find_key(Scope::group, name)) return fail(ErrorCode::INVALID_CONFIG, "Unknown group config name: {}", name);
  }
  std::map<std::string_view, Value> values;
  for (const auto& [name, text] : after) {
    TRY(Value value, parse_value(*find_key(Scope::group, name), text));
    values.emplace(name, std::move(value));
  }
  if (auto tags = after.find("streams.rack.aware.assignment.tags"); tags != after.end()) {
    auto items = split_list(tags->second);
    std::sort(items.begin(), items.end());
    if (std::adjacent_find(items.begin(), items.end()) != items.end()) {
      return fail(ErrorCode::INVALID_CONFIG, "streams.rack.aware.assignment.tags must not contain duplicate tag keys.");
    }
  }
  for (const Bound& bound : bounds) {
    auto found = values.find(bound.key);
    if (found != values.end()) TRY_VOID(check_bound(bound, std::get<int64_t>(found->second), server.values));
  }
  if (auto assignor = after.find("streams.assignor.name"); assignor != after.end()) {
    const auto& registered = server.values.list("group.streams.assignors");
    if (std::find(registered.begin(), registered.end(), assignor->second) == registered.end()) {
      return fail(ErrorCode::INVALID_CONFIG, "streams.assignor.name '{}' is not a registered task assignor. Registered assignors are: [{}].", assignor->second,
                  fmt::join(registered, ", "));
    }
  }
  for (std::string kind : {"consumer.", "share.", "streams."}) {
    std::string session = kind + "session.timeout.ms", heartbeat = kind + "heartbeat.interval.ms";
    if (!values.contains(session) && !values.contains(heartbeat)) continue;
    auto effective = [&](const std::string& key) { return values.contains(key) ? std::get<int64_t>(values[key]) : server.values.integer("group." + key); };
    if (effective(session) <= effective(heartbeat)) return fail(ErrorCode::INVALID_CONFIG, "{} must be greater than {}", session, heartbeat);
  }
  if (auto topic = after.find("errors.deadletterqueue.topic.name"); topic != after.end() && topic->second.starts_with("__")) {
    return fail(ErrorCode::INVALID_CONFIG, "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'");
  }
  return {};
}

}  // namespace castellan::config

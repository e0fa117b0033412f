// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "controller/features.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "config/alter.h"
#include "wire/messages/update_features_request.h"
#include "wire/messages/update_features_response.h"

namespace castellan::controller {

namespace {

using image::MetadataVersion;
using image::SupportedFeatures;
using image::SupportedRange;

enum class UpgradeType : int8_t { UNKNOWN = 0, UPGRADE = 1, SAFE_DOWNGRADE = 2, UNSAFE_DOWNGRADE = 3 };

template <class... Args>
std::unexpected<Error> refused(std::string_view feature, int16_t level, fmt::format_string<Args...> why, Args&&... args) {
  return fail(ErrorCode::INVALID_UPDATE_VERSION, "Invalid update version {} for feature {}. {}", level, feature, fmt::format(why, std::forward<Args>(args)...));
}

SupportedRange range_of(const SupportedFeatures& supported, std::string_view feature) {
  const auto found = supported.find(feature);
  return found == supported.end() ? SupportedRange{} : found->second;
}

Result<void> check_range(std::string_view who, std::string_view feature, int16_t level, SupportedRange range) {
  if (level >= range.min && level <= range.max) return {};
  if (range == SupportedRange{}) return refused(feature, level, "{} does not support this feature.", who);
  return refused(feature, level, "{} only supports versions {}-{}", who, range.min, range.max);
}

// Every node that is registered, fenced ones too, and every voter.
Result<void> check_supported(const Context& context, std::string_view feature, int16_t level) {
  const bool unstable = context.settings.server->values.boolean("unstable.feature.versions.enable");
  const NodeId self = context.settings.node_id;
  TRY_VOID(check_range(fmt::format("Local controller {}", self), feature, level, range_of(image::supported_features(unstable), feature)));
  for (const auto& [id, broker] : context.image.cluster.brokers) {
    TRY_VOID(check_range(fmt::format("Broker {}", id), feature, level, range_of(broker.features, feature)));
  }
  if (!context.metadata_version().controller_registration_supported()) return {};
  for (const auto& [id, controller] : context.image.cluster.controllers) {
    if (id != self) TRY_VOID(check_range(fmt::format("Controller {}", id), feature, level, range_of(controller.features, feature)));
  }
  for (NodeId voter : context.voters) {
    if (voter != self && context.image.cluster.controller(voter) == nullptr) {
      return refused(feature, level, "controller {} has not registered, and may not support this feature", voter);
    }
  }
  return {};
}

Result<void> check_metadata_downgrade(const Context& context, int16_t level, UpgradeType type) {
  const MetadataVersion current = context.metadata_version();
  TRY(const MetadataVersion wanted, MetadataVersion::from_level(level));
  if (wanted >= current || !image::metadata_changed_between(current, wanted)) return {};
  return fail(ErrorCode::INVALID_UPDATE_VERSION, "Unsupported metadata.version downgrade from {} to {}. {}", current.level(), level,
              type == UpgradeType::UNSAFE_DOWNGRADE ? "Unsafe metadata downgrade is not supported in this version."
                                                    : "Refusing to perform the requested downgrade because it might delete metadata information.");
}

struct Update {
  std::string feature;
  int16_t level;
  UpgradeType type;
};

Result<void> update_feature(const Context& context, const Update& update, const image::FeatureLevels& proposed, bool validate_only, MetadataRecords& records) {
  const auto& [feature, level, type] = update;
  if (type < UpgradeType::UPGRADE || type > UpgradeType::UNSAFE_DOWNGRADE) {
    return refused(feature, level, "The controller does not support the given upgrade type.");
  }
  const bool is_kraft = feature == image::kraft_version_feature;
  const int16_t current = is_kraft ? context.kraft_version : context.image.features.level(feature);
  if (level < 0) return refused(feature, level, "A feature version cannot be less than 0.");
  TRY_VOID(check_supported(context, feature, level));
  if (level < current && type == UpgradeType::UPGRADE) {
    return refused(feature, level, "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.");
  }
  if (level > current && type != UpgradeType::UPGRADE) return refused(feature, level, "Can't downgrade to a newer version.");

  if (is_kraft) {
    if (level < current) return refused(feature, level, "Can't downgrade the version of this feature.");
    if (type != UpgradeType::UPGRADE) return {};
    if (level != current) {
      if (context.change_kraft_version == nullptr) return refused(feature, level, "This quorum cannot change its kraft.version now.");
      TRY_VOID((*context.change_kraft_version)(level, validate_only));
    }
    add(records, wire::NoOpRecord{});  // so that the answer waits for what the quorum writes
    return {};
  }
  if (feature == image::metadata_version_feature) {
    TRY_VOID(check_metadata_downgrade(context, level, type));
  } else if (const image::Feature* known = image::find_feature(feature)) {
    if (const auto checked = image::validate_feature_dependencies(*known, level, proposed); !checked) return refused(feature, level, "{}", checked.error().message);
  } else {
    return refused(feature, level, "Feature {} not found.", feature);
  }
  wire::FeatureLevelRecord record;
  record.name = feature;
  record.feature_level = level;
  add(records, std::move(record));
  return {};
}

Result<MetadataRecords> update_all(const Context& context, const std::vector<Update>& updates, bool validate_only) {
  image::FeatureLevels proposed = context.image.features.levels;
  proposed.insert_or_assign(std::string(image::metadata_version_feature), context.metadata_version().level());
  bool enables_elr = false;
  for (const Update& update : updates) {
    proposed.insert_or_assign(update.feature, update.level);
    enables_elr = enables_elr || (update.feature == image::elr_version_feature && update.level > 0);
  }
  MetadataRecords records;
  if (enables_elr) append_elr_safety_records(context, records);
  for (const Update& update : updates) TRY_VOID(update_feature(context, update, proposed, validate_only, records));
  return records;
}

}  // namespace

void append_elr_safety_records(const Context& context, MetadataRecords& records) {
  constexpr std::string_view key = "min.insync.replicas";
  const auto put = [&](const std::string& broker, std::optional<std::string> value) {
    wire::ConfigRecord record;
    record.resource_type = static_cast<int8_t>(config::ResourceType::BROKER);
    record.resource_name = broker;
    record.name = key;
    record.value = std::move(value);
    add(records, std::move(record));
  };
  if (!context.image.configs.of_cluster().contains(key)) put("", std::to_string(context.settings.server->values.integer(key)));
  for (const auto& [resource, settings] : context.image.configs.resources) {
    const bool is_one_broker = resource.type == static_cast<int8_t>(config::ResourceType::BROKER) && !resource.name.empty();
    if (is_one_broker && settings.map->contains(key)) put(resource.name, std::nullopt);
  }
}

ControllerResult update_features(const Context& context, const wire::UpdateFeaturesRequest& request, int16_t version) {
  // A feature that comes twice: the last one counts, as in Kafka's map.
  std::vector<Update> updates;
  for (const auto& each : request.feature_updates) {
    std::erase_if(updates, [&](const Update& earlier) { return earlier.feature == each.feature; });
    updates.push_back({each.feature, each.max_version_level, static_cast<UpgradeType>(each.upgrade_type)});
  }
  ControllerResult result{.atomic = true};
  wire::UpdateFeaturesResponse response;
  response.error_message.reset();
  auto records = update_all(context, updates, request.validate_only);
  if (!records) {
    response.error_code = number(records.error().code);
    response.error_message = records.error().message;
    result.notes.push_back(fmt::format("Features are not updated: {}", records.error().message));
  } else {
    if (!request.validate_only) result.records = std::move(*records);
    if (version <= 1) {
      for (const auto& each : request.feature_updates) {
        auto& out = response.results.emplace_back();
        out.feature = each.feature;
        out.error_message.reset();
      }
    }
    for (const Update& update : updates) {
      result.notes.push_back(fmt::format("{} feature {} to level {}", request.validate_only ? "Could set" : "Setting", update.feature, update.level));
    }
  }
  result.reply = Reply::of(std::move(response));
  return result;
}

}  // namespace castellan::controller

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/storage/features.h"

#include <charconv>

namespace castellan::cli {
namespace {

using image::MetadataVersion;

std::string trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

Result<MetadataVersion> choose_metadata_version(const FeatureRequest& request, const image::FeatureLevels& asked) {
  auto level = asked.find(image::metadata_version_feature);
  if (level != asked.end() && request.release_version) {
    return fail(ErrorCode::INVALID_CONFIG, "Use --release-version instead of --feature metadata.version=X to avoid ambiguity.");
  }
  MetadataVersion version = request.unstable_versions_enabled ? MetadataVersion::latest_testing() : MetadataVersion::latest_production();
  if (level != asked.end()) {
    TRY(version, MetadataVersion::from_level(level->second));
  } else if (request.release_version) {
    TRY(version, MetadataVersion::parse(*request.release_version, request.unstable_versions_enabled));
  }
  if (!version.is_production() && !request.unstable_versions_enabled) {
    return fail(ErrorCode::INVALID_CONFIG, "metadata.version {} is not yet stable.", version.name());
  }
  return version;
}

Result<int16_t> choose_kraft_version(std::optional<int16_t> asked, bool dynamic_quorum) {
  if (!asked) return static_cast<int16_t>(dynamic_quorum ? 1 : 0);
  if (*asked == 0 && dynamic_quorum) {
    return fail(ErrorCode::INVALID_CONFIG, "Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, "
                "or --no-initial-controllers is used. For dynamic controllers support, try removing the --feature flag for kraft.version.");
  }
  if (*asked != 0 && !dynamic_quorum) {
    return fail(ErrorCode::INVALID_CONFIG, "Cannot set kraft.version to {} unless controller.quorum.voters is empty and one of the flags --standalone, "
                "--initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try using one of --standalone, --initial-controllers, "
                "or --no-initial-controllers and removing controller.quorum.voters.", *asked);
  }
  return *asked;
}

}  // namespace

Result<std::pair<std::string, int16_t>> parse_feature_level(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos) return fail(ErrorCode::INVALID_CONFIG, "Can't parse feature=level string {}: equals sign not found.", text);
  std::string level_text = trim(text.substr(equals + 1));
  int16_t level = 0;
  auto [end, error] = std::from_chars(level_text.data(), level_text.data() + level_text.size(), level);
  if (error != std::errc() || end != level_text.data() + level_text.size() || level_text.empty()) {
    return fail(ErrorCode::INVALID_CONFIG, "Can't parse feature=level string {}: unable to parse {} as a short.", text, level_text);
  }
  return std::pair(trim(text.substr(0, equals)), level);
}

Result<FeatureChoice> choose_features(const FeatureRequest& request) {
  image::FeatureLevels asked;
  for (const std::string& text : request.features) {
    TRY(auto feature, parse_feature_level(text));
    asked.insert_or_assign(std::move(feature.first), feature.second);
  }
  FeatureChoice choice;
  TRY(choice.metadata_version, choose_metadata_version(request, asked));
  std::vector<std::string> names;
  for (const image::Feature& feature : image::features()) names.emplace_back(feature.name);
  std::sort(names.begin(), names.end());
  for (const auto& [name, level] : asked) {
    if (name != image::metadata_version_feature && !image::find_feature(name)) {
      return fail(ErrorCode::INVALID_CONFIG, "Unsupported feature: {}. Supported features are: {}", name, fmt::join(names, ", "));
    }
  }
  choice.levels = image::default_feature_levels(choice.metadata_version);
  for (const auto& [name, level] : asked) choice.levels.insert_or_assign(name, level);
  choice.levels.insert_or_assign(std::string(image::metadata_version_feature), choice.metadata_version.level());
  auto kraft = asked.find(image::kraft_version_feature);
  TRY(int16_t kraft_version, choose_kraft_version(kraft == asked.end() ? std::nullopt : std::optional(kraft->second), request.dynamic_quorum));
  choice.levels.insert_or_assign(std::string(image::kraft_version_feature), kraft_version);
  for (const image::Feature& feature : image::features()) {
    int16_t level = choice.levels.at(std::string(feature.name));
    int16_t highest = request.unstable_versions_enabled ? feature.level_max() : feature.latest_production;
    if (!feature.find(level) || level > highest) {
      return fail(ErrorCode::INVALID_CONFIG, "No feature:{} with feature level {}: supported are the levels {} to {}", feature.name, level, feature.level_min(), highest);
    }
    TRY_VOID(image::validate_feature_dependencies(feature, level, choice.levels));
  }
  return choice;
}

}  // namespace castellan::cli

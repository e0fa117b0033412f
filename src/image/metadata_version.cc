// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/metadata_version.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace castellan::image {

namespace {

struct Row {
  int16_t level;
  std::string_view name;
  bool metadata_changed;  // new records, fields or record versions came with it
};

constexpr std::array rows = {
    Row{7, "3.3-IV3", true},   Row{8, "3.4-IV0", true},   Row{9, "3.5-IV0", false},  Row{10, "3.5-IV1", false},
    Row{11, "3.5-IV2", true},  Row{12, "3.6-IV0", false}, Row{13, "3.6-IV1", true},  Row{14, "3.6-IV2", true},
    Row{15, "3.7-IV0", true},  Row{16, "3.7-IV1", false}, Row{17, "3.7-IV2", true},  Row{18, "3.7-IV3", false},
    Row{19, "3.7-IV4", false}, Row{20, "3.8-IV0", false}, Row{21, "3.9-IV0", false}, Row{22, "4.0-IV0", false},
    Row{23, "4.0-IV1", true},  Row{24, "4.0-IV2", false}, Row{25, "4.0-IV3", false}, Row{26, "4.1-IV0", false},
    Row{27, "4.1-IV1", false}, Row{28, "4.2-IV0", false}, Row{29, "4.2-IV1", false}, Row{30, "4.3-IV0", true},
    Row{31, "4.4-IV0", false}, Row{32, "4.4-IV1", true},  Row{33, "4.4-IV2", true},  Row{34, "4.5-IV0", false},
};
static_assert(rows.front().level == MetadataVersion::level_min);
static_assert(rows.back().level == MetadataVersion::level_latest_testing);

const Row& row(MetadataVersion version) { return rows[static_cast<size_t>(version.level() - MetadataVersion::level_min)]; }

constexpr std::string_view release_of(std::string_view name) { return name.substr(0, name.find('-')); }

// "a.b.c" -> "a.b"; what has fewer dots stays.
std::string_view first_two_segments(std::string_view text) {
  const size_t first = text.find('.');
  if (first == std::string_view::npos) return text;
  return text.substr(0, text.find('.', first + 1));
}

}  // namespace

Result<MetadataVersion> MetadataVersion::from_level(int16_t level) {
  if (level < level_min || level > level_latest_testing) {
    return fail(ErrorCode::INVALID_UPDATE_VERSION,
                "No MetadataVersion with feature level {}. Valid feature levels are from {} to {}.", level, level_min,
                level_latest_testing);
  }
  return MetadataVersion(level);
}

Result<MetadataVersion> MetadataVersion::parse(std::string_view text, bool unstable_versions_enabled) {
  const std::string_view wanted = first_two_segments(text);
  const int16_t last = unstable_versions_enabled ? level_latest_testing : level_latest_production;
  int16_t found = 0;
  for (const Row& candidate : rows) {
    if (candidate.level > last) break;
    if (candidate.name == wanted) return MetadataVersion(candidate.level);
    // A release stands for its last level in production, whatever is enabled.
    if (candidate.level <= level_latest_production && release_of(candidate.name) == wanted) found = candidate.level;
  }
  if (found != 0) return MetadataVersion(found);
  return fail(ErrorCode::INVALID_UPDATE_VERSION,
              "Unknown metadata.version '{}'. Supported metadata.version are: {}", text,
              metadata_version_names(minimum(), MetadataVersion(last)));
}

std::string_view MetadataVersion::name() const { return row(*this).name; }
std::string_view MetadataVersion::release() const { return release_of(row(*this).name); }

std::string metadata_version_names(MetadataVersion first, MetadataVersion last) {
  std::string names;
  for (const Row& each : rows) {
    if (each.level < first.level() || each.level > last.level()) continue;
    if (!names.empty()) names += ", ";
    names += each.name;
  }
  return names;
}

bool metadata_changed_between(MetadataVersion one, MetadataVersion other) {
  const int16_t low = std::min(one.level(), other.level());
  const int16_t high = std::max(one.level(), other.level());
  return std::ranges::any_of(rows, [&](const Row& each) { return each.level > low && each.level <= high && each.metadata_changed; });
}

const FeatureLevel* Feature::find(int16_t level) const {
  for (const FeatureLevel& each : levels) {
    if (each.level == level) return &each;
  }
  return nullptr;
}

int16_t Feature::default_level(MetadataVersion version) const {
  int16_t level = level_min();
  for (const FeatureLevel& each : levels) {
    if (each.default_from > version.level()) break;
    level = each.level;
  }
  return level;
}

std::span<const Feature> features() {
  static const std::vector<Feature> table = {
      {kraft_version_feature, {{0, 7, {}}, {1, 21, {}}}, 1},
      {transaction_version_feature, {{0, 7, {}}, {1, 24, {}}, {2, 24, {}}}, 2},
      {group_version_feature, {{0, 7, {}}, {1, 22, {}}}, 1},
      {elr_version_feature, {{0, 7, {}}, {1, 26, {{metadata_version_feature, 23}}}}, 1},
      {share_version_feature, {{0, 7, {}}, {1, 28, {}}, {2, 31, {}}}, 2},
      {streams_version_feature, {{0, 7, {}}, {1, 29, {}}}, 1},
  };
  return table;
}

const Feature* find_feature(std::string_view name) {
  for (const Feature& feature : features()) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

FeatureLevels default_feature_levels(MetadataVersion version) {
  FeatureLevels levels;
  levels.emplace(metadata_version_feature, version.level());
  for (const Feature& feature : features()) levels.emplace(feature.name, feature.default_level(version));
  return levels;
}

Result<void> validate_feature_dependencies(const Feature& feature, int16_t level, const FeatureLevels& levels) {
  const FeatureLevel* wanted = feature.find(level);
  if (wanted == nullptr) {
    return fail(ErrorCode::INVALID_UPDATE_VERSION, "No feature:{} with feature level {}", feature.name, level);
  }
  const auto finalized = [&](std::string_view name) -> int16_t {
    const auto found = levels.find(name);
    return found == levels.end() ? int16_t{-1} : found->second;
  };
  if (level >= 1 && finalized(metadata_version_feature) < MetadataVersion::level_min) {
    return fail(ErrorCode::INVALID_UPDATE_VERSION, "{} could not be set to {} because it depends on metadata.version={} ({})",
                feature.name, level, MetadataVersion::level_min, MetadataVersion::minimum().name());
  }
  for (const auto& [name, needed] : wanted->dependencies) {
    if (finalized(name) < needed) {
      return fail(ErrorCode::INVALID_UPDATE_VERSION, "{} could not be set to {} because it depends on {} level {}",
                  feature.name, level, name, needed);
    }
  }
  return {};
}

SupportedFeatures supported_features(bool unstable_versions_enabled) {
  SupportedFeatures ranges;
  const int16_t last =
      unstable_versions_enabled ? MetadataVersion::level_latest_testing : MetadataVersion::level_latest_production;
  ranges.emplace(metadata_version_feature, SupportedRange{MetadataVersion::level_min, last});
  for (const Feature& feature : features()) {
    ranges.emplace(feature.name, SupportedRange{feature.level_min(), unstable_versions_enabled ? feature.level_max() : feature.latest_production});
  }
  return ranges;
}

}  // namespace castellan::image

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The levels that a new cluster's features begin with: from --release-version and --feature, checked against each other.

#pragma once

#include <optional>
#include <span>
#include <string>

#include "image/metadata_version.h"

namespace castellan::cli {

struct FeatureRequest {
  std::optional<std::string> release_version;    // "4.4", "4.0-IV3"
  std::span<const std::string> features;         // "group.version=0"; the last of one name counts
  bool dynamic_quorum = false;                   // controller.quorum.voters is empty
  bool unstable_versions_enabled = false;
};

struct FeatureChoice {
  image::MetadataVersion metadata_version;
  image::FeatureLevels levels;                   // every feature, metadata.version and kraft.version too
};

// Errors name the feature and the level, with Kafka's words.
Result<FeatureChoice> choose_features(const FeatureRequest& request);

// "name=level" as two parts.
Result<std::pair<std::string, int16_t>> parse_feature_level(std::string_view text);

}  // namespace castellan::cli

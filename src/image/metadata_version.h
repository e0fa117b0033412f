// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The feature levels of a cluster (KIP-584, KIP-1022). metadata.version says which record and request versions the
// whole cluster understands; the other features switch one protocol each. Level numbers are on disk and on the wire:
// never change one.
//
//   TRY(auto version, MetadataVersion::parse("4.4", false));          // or "4.4-IV2", "3.3.1"
//   version.level();  version.name();  version.elr_supported();
//   for (const Feature& feature : features()) feature.default_level(version);
//
// Immutable tables; every function is pure and may be called from any thread.

#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace castellan::image {

inline constexpr std::string_view metadata_version_feature = "metadata.version";
inline constexpr std::string_view kraft_version_feature = "kraft.version";
inline constexpr std::string_view transaction_version_feature = "transaction.version";
inline constexpr std::string_view group_version_feature = "group.version";
inline constexpr std::string_view elr_version_feature = "eligible.leader.replicas.version";
inline constexpr std::string_view share_version_feature = "share.version";
inline constexpr std::string_view streams_version_feature = "streams.version";

class MetadataVersion {
 public:
  static constexpr int16_t level_min = 7;                 // 3.3-IV3: the first for KRaft in production
  static constexpr int16_t level_latest_production = 33;  // 4.4-IV2
  static constexpr int16_t level_latest_testing = 34;     // 4.5-IV0: known, refused unless unstable versions are enabled

  // The lowest level. A cluster whose log has no FeatureLevelRecord for metadata.version yet has no MetadataVersion.
  constexpr MetadataVersion() = default;
  static constexpr MetadataVersion minimum() { return MetadataVersion(level_min); }
  static constexpr MetadataVersion latest_production() { return MetadataVersion(level_latest_production); }
  static constexpr MetadataVersion latest_testing() { return MetadataVersion(level_latest_testing); }

  // Errors: INVALID_UPDATE_VERSION with the range of known levels.
  static Result<MetadataVersion> from_level(int16_t level);
  // "4.0-IV3", or a release such as "4.0" or "3.9.1": its latest level that is in production. Further segments after the
  // second are ignored, as Kafka does. Errors: INVALID_UPDATE_VERSION with all known names, in Kafka's words.
  static Result<MetadataVersion> parse(std::string_view text, bool unstable_versions_enabled);

  constexpr int16_t level() const { return level_; }
  std::string_view name() const;           // "4.4-IV2"
  std::string_view release() const;        // "4.4"
  bool is_production() const { return level_ <= level_latest_production; }

  constexpr bool scram_supported() const { return level_ >= 11; }                     // 3.5-IV2, KIP-900
  constexpr bool leader_epoch_bump_on_isr_shrink() const { return level_ < 12; }      // until 3.6-IV0, KAFKA-15021
  constexpr bool transactions_supported() const { return level_ >= 13; }              // 3.6-IV1, KIP-868
  constexpr bool delegation_tokens_supported() const { return level_ >= 14; }         // 3.6-IV2, KIP-900
  constexpr bool controller_registration_supported() const { return level_ >= 15; }   // 3.7-IV0, KIP-919
  constexpr bool directory_assignment_supported() const { return level_ >= 17; }      // 3.7-IV2, KIP-858
  constexpr bool elr_supported() const { return level_ >= 23; }                       // 4.0-IV1, KIP-966
  constexpr bool cordoned_log_dirs_supported() const { return level_ >= 30; }         // 4.3-IV0, KIP-1066
  constexpr bool cidr_acls_supported() const { return level_ >= 32; }                 // 4.4-IV1
  constexpr bool controller_unregistration_supported() const { return level_ >= 33; } // 4.4-IV2, KIP-1312
  constexpr bool migration_supported() const { return level_ >= 8; }                  // 3.4-IV0, KIP-866

  constexpr int16_t register_broker_record_version() const {
    return cordoned_log_dirs_supported() ? 4 : directory_assignment_supported() ? 3 : migration_supported() ? 2 : 1;
  }
  constexpr int16_t partition_record_version() const {
    return elr_supported() ? 2 : directory_assignment_supported() ? 1 : 0;
  }
  constexpr int16_t partition_change_record_version() const { return partition_record_version(); }
  // The highest version of these requests between brokers.
  constexpr int16_t fetch_request_version() const {
    return level_ >= 27 ? 18 : level_ >= 21 ? 17 : level_ >= 19 ? 16 : level_ >= 10 ? 15 : level_ >= 9 ? 14 : 13;
  }
  constexpr int16_t list_offsets_request_version() const {
    return level_ >= 29 ? 11 : level_ >= 25 ? 10 : level_ >= 21 ? 9 : level_ >= 9 ? 8 : 7;
  }

  friend constexpr auto operator<=>(const MetadataVersion&, const MetadataVersion&) = default;

 private:
  explicit constexpr MetadataVersion(int16_t level) : level_(level) {}
  int16_t level_ = level_min;
};

// Every MetadataVersion from `first` to `last`, both inclusive, as "3.3-IV3, 3.4-IV0, ...".
std::string metadata_version_names(MetadataVersion first, MetadataVersion last);

// True where going from one to the other (either way) passes a level that changed the records themselves: then a
// downgrade loses metadata, and Kafka refuses it.
bool metadata_changed_between(MetadataVersion one, MetadataVersion other);

using FeatureLevels = std::map<std::string, int16_t, std::less<>>;

struct FeatureLevel {
  int16_t level;
  int16_t default_from;  // the first metadata.version whose clusters get this level when they are formatted
  // What must be finalized at least at this level, by feature name.
  std::vector<std::pair<std::string_view, int16_t>> dependencies;
};

struct Feature {
  std::string_view name;
  std::vector<FeatureLevel> levels;  // ascending, from level 0
  int16_t latest_production;

  int16_t level_min() const { return levels.front().level; }
  int16_t level_max() const { return levels.back().level; }
  const FeatureLevel* find(int16_t level) const;
  int16_t default_level(MetadataVersion version) const;
};

// All but metadata.version, in the order in which Kafka's tools print them.
std::span<const Feature> features();
// Null for metadata.version and for a name that is not known.
const Feature* find_feature(std::string_view name);

// The default level of every feature and of metadata.version for a cluster formatted at `version`; zeros included.
FeatureLevels default_feature_levels(MetadataVersion version);

// What the level of a feature needs of the others in `levels`, which are those that would be finalized beside it.
// Errors: INVALID_UPDATE_VERSION for a missing dependency, in Kafka's words.
Result<void> validate_feature_dependencies(const Feature& feature, int16_t level, const FeatureLevels& levels);

struct SupportedRange {
  int16_t min = 0;
  int16_t max = 0;
  friend bool operator==(const SupportedRange&, const SupportedRange&) = default;
};
using SupportedFeatures = std::map<std::string, SupportedRange, std::less<>>;

// The ranges that a node registers and shows in ApiVersions: those of Apache Kafka 4.4, metadata.version and
// kraft.version included, so that directories and clusters stay exchangeable.
SupportedFeatures supported_features(bool unstable_versions_enabled);

}  // namespace castellan::image

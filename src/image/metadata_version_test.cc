// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "image/metadata_version.h"

#include <gtest/gtest.h>

namespace castellan::image {
namespace {

TEST(MetadataVersion, NamesAndLevelsGoBothWays) {
  for (int16_t level = MetadataVersion::level_min; level <= MetadataVersion::level_latest_testing; ++level) {
    const auto version = MetadataVersion::from_level(level);
    ASSERT_TRUE(version);
    EXPECT_EQ(MetadataVersion::parse(version->name(), true).value(), *version);
  }
  EXPECT_EQ(MetadataVersion::latest_production().name(), "4.4-IV2");
  EXPECT_EQ(MetadataVersion::minimum().name(), "3.3-IV3");
}

TEST(MetadataVersion, AReleaseMeansItsLastProductionLevel) {
  EXPECT_EQ(MetadataVersion::parse("4.4", false)->level(), 33);
  EXPECT_EQ(MetadataVersion::parse("3.3.1", false)->level(), 7);
  EXPECT_EQ(MetadataVersion::parse("3.7", false)->level(), 19);
  EXPECT_EQ(MetadataVersion::parse("4.0.9-SNAPSHOT", false)->level(), 25);
  EXPECT_FALSE(MetadataVersion::parse("4.5", true));
  EXPECT_EQ(MetadataVersion::parse("4.5-IV0", true)->level(), 34);
}

TEST(MetadataVersion, UnknownNamesAndLevelsSayWhatIsKnown) {
  const auto name = MetadataVersion::parse("4.5-IV0", false);
  ASSERT_FALSE(name);
  EXPECT_TRUE(name.error().message.starts_with("Unknown metadata.version '4.5-IV0'. Supported metadata.version are: 3.3-IV3, 3.4-IV0,"));
  EXPECT_TRUE(name.error().message.ends_with("4.4-IV1, 4.4-IV2"));
  const auto level = MetadataVersion::from_level(6);
  ASSERT_FALSE(level);
  EXPECT_EQ(level.error().message, "No MetadataVersion with feature level 6. Valid feature levels are from 7 to 34.");
  EXPECT_FALSE(MetadataVersion::from_level(35));
  EXPECT_FALSE(MetadataVersion::parse("", false));
}

TEST(MetadataVersion, KnowsWhichStepsChangedTheRecords) {
  const auto between = [](int16_t a, int16_t b) {
    return metadata_changed_between(*MetadataVersion::from_level(a), *MetadataVersion::from_level(b));
  };
  EXPECT_FALSE(between(33, 33));
  EXPECT_TRUE(between(33, 32));
  EXPECT_TRUE(between(7, 8));
  EXPECT_FALSE(between(10, 8));
  EXPECT_FALSE(between(22, 17));
  EXPECT_TRUE(between(23, 22));
  EXPECT_FALSE(between(31, 30));
}

TEST(Features, DefaultsFollowTheMetadataVersion) {
  const auto at = [](std::string_view release) { return default_feature_levels(*MetadataVersion::parse(release, false)); };
  const FeatureLevels latest = at("4.4");
  EXPECT_EQ(latest, (FeatureLevels{{"metadata.version", 33}, {"kraft.version", 1}, {"transaction.version", 2}, {"group.version", 1},
                                   {"eligible.leader.replicas.version", 1}, {"share.version", 2}, {"streams.version", 1}}));
  EXPECT_EQ(at("3.9").at("kraft.version"), 1);
  EXPECT_EQ(at("3.8").at("kraft.version"), 0);
  EXPECT_EQ(at("4.0-IV1").at("transaction.version"), 0);
  EXPECT_EQ(at("4.0").at("eligible.leader.replicas.version"), 0);
  EXPECT_EQ(at("4.3").at("share.version"), 1);
}

TEST(Features, ADependencyThatIsMissingIsNamed) {
  const Feature& elr = *find_feature(elr_version_feature);
  EXPECT_TRUE(validate_feature_dependencies(elr, 1, {{"metadata.version", 23}}));
  EXPECT_TRUE(validate_feature_dependencies(elr, 0, {}));
  EXPECT_EQ(validate_feature_dependencies(elr, 1, {{"metadata.version", 22}}).error().message,
            "eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23");
  EXPECT_EQ(validate_feature_dependencies(*find_feature("group.version"), 1, {}).error().message,
            "group.version could not be set to 1 because it depends on metadata.version=7 (3.3-IV3)");
  EXPECT_EQ(validate_feature_dependencies(elr, 2, {}).error().message, "No feature:eligible.leader.replicas.version with feature level 2");
  EXPECT_EQ(find_feature("metadata.version"), nullptr);
}

TEST(Features, SupportedRangesAreThoseOfKafka44) {
  const SupportedFeatures ranges = supported_features(false);
  EXPECT_EQ(ranges.at("metadata.version"), (SupportedRange{7, 33}));
  EXPECT_EQ(ranges.at("kraft.version"), (SupportedRange{0, 1}));
  EXPECT_EQ(ranges.at("share.version"), (SupportedRange{0, 2}));
  EXPECT_EQ(supported_features(true).at("metadata.version"), (SupportedRange{7, 34}));
  EXPECT_EQ(ranges.size(), 7u);
}

}  // namespace
}  // namespace castellan::image

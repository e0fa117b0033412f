// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/client_metrics_checks.h"

#include <gtest/gtest.h>

namespace castellan::config {
namespace {

TEST(ClientMetricsChecks, patterns_that_java_compiles_pass) {
  for (std::string_view good : {"x.*", "", "a|b", "(a|b)+?c{2,3}", "[a-z&&[^x]]*", "\\d+\\.\\p{L}", "(?i)abc", "(?<name>a)\\k<name>", "[]a]", "[^]]", "a{2}", "\\Q(*[\\E.", "\\Q(*", "^a$", "a++", "(?:a)*+"}) {
    EXPECT_TRUE(is_java_pattern(good)) << good;
  }
}

TEST(ClientMetricsChecks, patterns_that_java_refuses_do_not) {
  for (std::string_view bad : {"*", "+a", "a|*", "(*a)", "(a", "a)", "[a", "a\\", "a{", "a{,3}", "a{x}", "a**", "(?a)", "(?", "\\p{L"}) EXPECT_FALSE(is_java_pattern(bad)) << bad;
}

TEST(ClientMetricsChecks, depth_costs_nothing) {
  EXPECT_FALSE(is_java_pattern(std::string(1 << 20, '(')));
  EXPECT_TRUE(is_java_pattern(std::string(1 << 20, '(') + std::string(1 << 20, ')')));
}

TEST(ClientMetricsChecks, an_item_names_one_attribute_and_one_pattern) {
  EXPECT_TRUE(validate_client_metrics({{"match", "client_id = a.*, client_software_version=1\\.2"}}));
  for (std::string bad : {"client_id", "client_id=", "colour=blue", "client_id=a=b", "client_id=("}) EXPECT_FALSE(validate_client_metrics({{"match", bad}})) << bad;
}

}  // namespace
}  // namespace castellan::config

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "config/properties.h"

#include <gtest/gtest.h>

namespace castellan::config {
namespace {

ConfigMap parse(std::string_view text) {
  auto map = parse_properties(text, "test.properties");
  EXPECT_TRUE(map.has_value()) << (map ? "" : map.error().message);
  return map.value_or(ConfigMap{});
}

TEST(Properties, separators_are_equals_colon_or_blank) {
  EXPECT_EQ(parse("a=1\nb:2\nc 3\nd = 4\ne : 5\nf\t6\n"), (ConfigMap{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}, {"f", "6"}}));
}

TEST(Properties, comments_and_empty_lines_do_not_count) { EXPECT_EQ(parse("# a=1\n! b=2\n\n  # c=3\n  d=4"), (ConfigMap{{"d", "4"}})); }

TEST(Properties, only_the_first_separator_ends_the_key) {
  EXPECT_EQ(parse("listeners=PLAINTEXT://:9092\nx==y"), (ConfigMap{{"listeners", "PLAINTEXT://:9092"}, {"x", "=y"}}));
}

TEST(Properties, a_key_without_a_value_has_an_empty_one) { EXPECT_EQ(parse("a\nb=\nc:"), (ConfigMap{{"a", ""}, {"b", ""}, {"c", ""}})); }

TEST(Properties, a_backslash_at_the_end_joins_lines) {
  EXPECT_EQ(parse("a=1,\\\n   2,\\\r\n\t3\nb=x\\\\\nc=last\\"), (ConfigMap{{"a", "1,2,3"}, {"b", "x\\"}, {"c", "last"}}));
}

TEST(Properties, a_comment_line_is_not_continued) { EXPECT_EQ(parse("# a \\\nb=1"), (ConfigMap{{"b", "1"}})); }

TEST(Properties, escapes_are_resolved_in_keys_and_values) {
  EXPECT_EQ(parse("a\\ b\\=c=\\t\\n\\q\\u00e9\\u20AC"), (ConfigMap{{"a b=c", "\t\nq\u00e9\u20ac"}}));
  EXPECT_EQ(parse("a=\\ud83d\\ude00"), (ConfigMap{{"a", "\U0001f600"}}));
}

TEST(Properties, trailing_blanks_belong_to_the_value) { EXPECT_EQ(parse("a=1  "), (ConfigMap{{"a", "1  "}})); }

TEST(Properties, the_last_of_two_lines_with_one_key_wins) { EXPECT_EQ(parse("a=1\na=2"), (ConfigMap{{"a", "2"}})); }

TEST(Properties, a_malformed_escape_names_the_file) {
  auto map = parse_properties("a=\\u12g4", "server.properties");
  ASSERT_FALSE(map.has_value());
  EXPECT_NE(map.error().message.find("server.properties"), std::string::npos);
}

TEST(Properties, what_is_formatted_reads_back) {
  ConfigMap map{{"a b", " x = y:#!\\ \t"}, {"plain", "w\u00e4rme"}, {"empty", ""}};
  std::string text;
  for (const auto& [key, value] : map) text += format_property(key, value);
  EXPECT_EQ(parse(text), map);
}

}  // namespace
}  // namespace castellan::config

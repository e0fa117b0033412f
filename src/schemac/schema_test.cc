// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "schemac/schema.h"

#include <gtest/gtest.h>

namespace castellan::schemac {
namespace {

std::string error_of(std::string_view text) {
  auto message = parse("X.msg", text);
  return message ? "" : message.error().message;
}

TEST(Schema, a_message_with_nested_and_shared_structs) {
  auto message = parse("X.msg", R"(# a comment
request XRequest key 7 versions 1-4 flexible 2+ unstable
listeners broker controller

Topics      []Topic  1+    nullable 2+ ignorable
  Name      string   1+    key
  Parts     []Part   3+
    Id      int32    3+    default -1
  Owner     Owner    4+    tag 0
Owner       Owner    1+

struct Owner 1+
  Host      string   1+
)");
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(message->key, 7);
  EXPECT_EQ(message->versions.first, 1);
  EXPECT_EQ(message->versions.last, 4);
  EXPECT_EQ(message->flexible.last, Versions::open);
  EXPECT_TRUE(message->latest_unstable);
  EXPECT_EQ(message->listeners.size(), 2u);
  ASSERT_EQ(message->structs.size(), 3u);   // each after those that it uses
  EXPECT_EQ(message->structs.back().name, "Topic");
  ASSERT_EQ(message->root.fields.size(), 2u);
  const Field& topics = message->root.fields[0];
  EXPECT_TRUE(topics.array && topics.ignorable);
  EXPECT_EQ(topics.nullable.first, 2);
  EXPECT_EQ(*message->structs.back().fields[2].tag, 0u);
}

TEST(Schema, errors_name_the_line_and_the_field) {
  EXPECT_EQ(error_of(""), "X.msg:0: no message is described here; the first line is e.g. 'request FetchRequest key 1 versions 4-18'");
  EXPECT_NE(error_of("reqest X\n").find("X.msg:1: expected a kind"), std::string::npos);
  EXPECT_EQ(error_of("request X key 1 versions 3-1\n"), "X.msg:1: versions '3-1' is no range; write e.g. 0-3, 4, 9+ or none");
  EXPECT_NE(error_of("request X colour red\n").find("unknown word 'colour'"), std::string::npos);
  const std::string head = "request X key 1 versions 0-3 flexible 2+\n";
  EXPECT_EQ(error_of(head + "A\n"), "X.msg:2: expected 'Name type versions [options]'");
  EXPECT_EQ(error_of(head + "A int32 x\n"), "X.msg:2: field A: 'x' is no range of versions");
  EXPECT_EQ(error_of(head + "A int32 0+ fast\n"), "X.msg:2: field A: unknown option 'fast'; known are nullable, tag, default, ignorable, key, flexible");
  EXPECT_EQ(error_of(head + "A int32 0+\nA int32 0+\n"), "X.msg:3: field A is there twice");
  EXPECT_EQ(error_of(head + "A int32 0+ tag 0\n"), "X.msg:2: field A: tagged in versions that are not flexible");
  EXPECT_EQ(error_of(head + "A int32 2+ tag 0\nB int32 2+ tag 0\n"), "X.msg:3: field B: tag 0 is taken");
  EXPECT_EQ(error_of(head + "A string 0+ default null\n"), "X.msg:2: field A: default null, but never nullable");
  EXPECT_EQ(error_of(head + "A int32 0+ nullable 0+\n"), "X.msg:2: field A: int32 cannot be null");
  EXPECT_EQ(error_of(head + "A []bool 0+\n"), "X.msg:2: field A: arrays of bool are not supported");
  EXPECT_EQ(error_of(head + "A Other 0+\n"), "X.msg:2: field A: type Other is not described");
  EXPECT_EQ(error_of(head + "A int32 0+\n  B int32 0+\n"), "X.msg:3: field B is indented by 2, but the line before opens no struct");
  EXPECT_EQ(error_of(head + "A string 0+ default x\n"), "X.msg:2: field A: a string begins empty or null; 'x' is not supported");
  EXPECT_EQ(error_of(head + "A int32 0+ default x\n"), "X.msg:2: field A: default 'x' is no value of int32");
}

TEST(Schema, names_in_cpp) {
  EXPECT_EQ(snake_case("TopicId"), "topic_id");
  EXPECT_EQ(snake_case("KRaftVersionRecord"), "kraft_version_record");
  EXPECT_EQ(snake_case("V3AndBelowTopics"), "v3_and_below_topics");
  EXPECT_EQ(snake_case("group"), "group");
  EXPECT_EQ(snake_case("Operator"), "operator_");
}

}  // namespace
}  // namespace castellan::schemac

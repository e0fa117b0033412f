// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "io/memory/memory_file_system.h"

namespace castellan::cli {
namespace {

using Kind = Option::Kind;

Parsed parse(std::vector<std::string> arguments) {
  static const CommandLine line("kafka-example", "An example.",
                                {{"show", "Show it.", {{"--config", "-c", Kind::value, true, 0, "The file."}, {"--feature", "-f", Kind::repeated, false, 0, "A feature."},
                                                       {"--fast", "-q", Kind::flag, false, 0, "Fast."}}},
                                 {"choose", "Choose.", {{"--one", "-1", Kind::flag, false, 1, "One."}, {"--two", "-t", Kind::flag, false, 1, "Two."},
                                                        {"--three", "-h3", Kind::value, false, 1, "Three."}}}});
  io::MemoryFileSystem files;
  static_cast<void>(files.make_directories("/x"));
  static_cast<void>(files.replace_file("/x/arguments", as_bytes("show\n-c\nfile with blanks\n")));
  return line.parse(arguments, files);
}

TEST(CommandLine, long_short_attached_and_shortened_options_mean_the_same) {
  for (std::vector<std::string> arguments : {std::vector<std::string>{"show", "--config", "f"}, {"show", "--config=f"}, {"show", "-c", "f"}, {"show", "-cf"}, {"show", "-c=f"}, {"show", "--con", "f"}}) {
    Parsed parsed = parse(arguments);
    EXPECT_FALSE(parsed.exit_code) << parsed.message;
    EXPECT_EQ(parsed.value("--config"), "f");
  }
}

TEST(CommandLine, repeated_options_keep_their_order_and_single_ones_their_last_value) {
  Parsed parsed = parse({"show", "-c", "a", "-f", "x=1", "-c", "b", "--feature", "y=2"});
  EXPECT_EQ(parsed.value("--config"), "b");
  EXPECT_EQ(parsed.values("--feature"), (std::vector<std::string>{"x=1", "y=2"}));
  EXPECT_FALSE(parsed.has("--fast"));
}

TEST(CommandLine, short_flags_can_be_bundled) {
  Parsed parsed = parse({"show", "-qc", "f"});
  EXPECT_TRUE(parsed.has("--fast"));
  EXPECT_EQ(parsed.value("--config"), "f");
}

TEST(CommandLine, an_empty_value_and_a_negative_number_are_values) {
  EXPECT_EQ(parse({"show", "-c", ""}).value("--config"), "");
  EXPECT_EQ(parse({"show", "-c", "-5"}).value("--config"), "-5");
}

TEST(CommandLine, arguments_can_come_from_a_file) {
  EXPECT_EQ(parse({"@/x/arguments"}).value("--config"), "file with blanks");
  EXPECT_EQ(parse({"@/x/none"}).exit_code, 1);
}

TEST(CommandLine, help_ends_with_0) {
  EXPECT_EQ(parse({"--help"}).exit_code, 0);
  Parsed help = parse({"show", "-h"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.message.find("--config CONFIG, -c CONFIG"), std::string::npos);
}

TEST(CommandLine, mistakes_name_themselves_and_end_with_1) {
  const std::pair<std::vector<std::string>, std::string_view> cases[] = {
      {{}, "too few arguments"},
      {{"say"}, "invalid choice: 'say' (choose from 'show', 'choose')"},
      {{"-x"}, "unrecognized arguments: '-x'"},
      {{"show"}, "argument --config/-c is required"},
      {{"show", "-c"}, "argument --config/-c: expected one argument"},
      {{"show", "-c", "--fast"}, "argument --config/-c: expected one argument"},
      {{"show", "-c", "f", "stray"}, "unrecognized arguments: 'stray'"},
      {{"show", "-c", "f", "--colour"}, "unrecognized arguments: '--colour'"},
      {{"show", "--f", "f"}, "ambiguous option"},
      {{"show", "-c", "f", "--fast=1"}, "ignored explicit argument"},
      {{"choose", "--one", "-t"}, "argument --two/-t: not allowed with argument --one/-1"}};
  for (const auto& [arguments, words] : cases) {
    Parsed parsed = parse(arguments);
    EXPECT_EQ(parsed.exit_code, 1);
    EXPECT_NE(parsed.message.find(words), std::string::npos) << parsed.message;
    EXPECT_TRUE(parsed.message.starts_with("usage: kafka-example")) << parsed.message;
  }
}

}  // namespace
}  // namespace castellan::cli

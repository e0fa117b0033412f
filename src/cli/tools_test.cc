// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/tools.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "io/memory/memory_file_system.h"
#include "io/posix/posix_file_system.h"

namespace castellan::cli {
namespace {

struct Outcome {
  int exit_code;
  std::string out, err;
};

Outcome run_as(std::string_view program, std::vector<std::string> arguments) {
  io::MemoryFileSystem files;
  auto clock = io::make_system_clock();
  auto entropy = io::make_system_entropy();
  std::ostringstream out, err;
  Environment environment{files, *clock, *entropy, out, err};
  int exit_code = run(program, arguments, environment);
  return {exit_code, out.str(), err.str()};
}

TEST(Tools, names_stand_once_and_say_what_they_do) {
  std::set<std::string_view> names;
  for (const Tool& tool : tools()) {
    EXPECT_TRUE(names.insert(tool.name).second) << tool.name;
    EXPECT_FALSE(tool.summary.empty());
    EXPECT_TRUE(tool.script.empty() || tool.script.ends_with(".sh"));
  }
}

TEST(Tools, a_tool_runs_under_its_own_and_under_kafkas_name) {
  EXPECT_EQ(run_as("castellan", {"storage", "random-uuid"}).exit_code, 0);
  EXPECT_EQ(run_as("kafka-storage.sh", {"random-uuid"}).exit_code, 0);
  EXPECT_EQ(run_as("kafka-storage", {"random-uuid"}).out.size(), 23u);
}

TEST(Tools, help_version_and_mistakes) {
  EXPECT_EQ(run_as("castellan", {"--help"}).exit_code, 0);
  EXPECT_NE(run_as("castellan", {"--help"}).out.find("storage"), std::string::npos);
  EXPECT_NE(run_as("castellan", {"version"}).out.find("4.4"), std::string::npos);
  EXPECT_NE(run_as("castellan", {"script-names"}).out.find("kafka-storage.sh\n"), std::string::npos);
  EXPECT_EQ(run_as("castellan", {}).exit_code, 1);
  Outcome unknown = run_as("castellan", {"fly"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("'fly'"), std::string::npos);
}

TEST(Tools, the_configuration_page_has_every_key) {
  std::string page = run_as("castellan", {"config-doc"}).out;
  for (std::string_view words : {"| `num.io.threads` | int | `8` | [1,...] | cluster-wide |", "`share.isolation.level`", "Broker: `log.retention.ms`", "*required*"}) {
    EXPECT_NE(page.find(words), std::string::npos) << words;
  }
}

}  // namespace
}  // namespace castellan::cli

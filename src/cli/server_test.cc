// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <gtest/gtest.h>

#include <sstream>

#include "cli/tools.h"
#include "io/memory/memory_file_system.h"
#include "io/posix/posix_file_system.h"

namespace castellan::cli {
namespace {

// What a server that cannot start says; one that can is for the tests with real processes.
class Server : public testing::Test {
 protected:
  int run(std::vector<std::string> arguments) {
    auto clock = io::make_system_clock();
    auto entropy = io::make_system_entropy();
    Environment environment{files, *clock, *entropy, out, err};
    return run_server(arguments, environment);
  }
  void write(std::string_view text) { ASSERT_TRUE(files.make_directories("/c") && files.replace_file("/c/server.properties", as_bytes(text))); }
  // One line that has these words.
  void expect_line(std::string_view words) {
    EXPECT_NE(err.str().find(words), std::string::npos) << err.str();
    EXPECT_EQ(std::ranges::count(err.str(), '\n'), 1) << err.str();
    err.str("");
  }

  io::MemoryFileSystem files;
  std::ostringstream out, err;
};

constexpr std::string_view good =
    "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\n"
    "controller.quorum.bootstrap.servers=h:9093\n";

TEST_F(Server, without_a_file_it_says_how_it_is_used) {
  for (std::vector<std::string> arguments : {std::vector<std::string>{}, {"--help"}, {"a", "b"}, {"a", "--override"}, {"-x", "a"}}) {
    err.str("");
    EXPECT_EQ(run(arguments), 1);
    EXPECT_TRUE(err.str().starts_with("USAGE")) << err.str();
  }
  EXPECT_EQ(run({"--version"}), 0);
}

TEST_F(Server, a_file_that_is_not_there_is_named) {
  EXPECT_EQ(run({"/c/none.properties"}), 1);
  expect_line("/c/none.properties");
}

TEST_F(Server, missing_wrong_and_unsupported_keys_stop_it_in_one_line) {
  write("node.id=1\n");
  EXPECT_EQ(run({"/c/server.properties"}), 1);
  expect_line("/c/server.properties: Missing required configuration \"process.roles\"");
  write(fmt::format("{}num.io.threads=many\n", good));
  EXPECT_EQ(run({"/c/server.properties"}), 1);
  expect_line("num.io.threads");
  write(fmt::format("{}authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n", good));
  EXPECT_EQ(run({"/c/server.properties"}), 1);
  expect_line("authorizer.class.name");
}

TEST_F(Server, overrides_hold_instead_of_the_file) {
  write(good);
  EXPECT_EQ(run({"/c/server.properties", "--override", "node.id=x=y"}), 1);
  expect_line("Invalid value x=y for configuration node.id");
  EXPECT_EQ(run({"/c/server.properties", "--override=listeners"}), 1);
  expect_line("'listeners' must not be empty");
}

}  // namespace
}  // namespace castellan::cli

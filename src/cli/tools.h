// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The table of tools. A tool is a row: `castellan NAME ...` and, through a link beside the program, Kafka's own script name run its function.
// A new tool is a file and a row in tools.cc.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"

namespace castellan::cli {

struct Tool {
  std::string_view name;     // "storage"
  std::string_view script;   // "kafka-storage.sh"; "" when Kafka has no such script
  std::string_view summary;  // one line
  int (*run)(std::span<const std::string> arguments, Environment& environment);  // the exit code
};

std::span<const Tool> tools();

// Runs the tool that `program` (the name this process was started under) or the first argument names. Returns the exit code:
// 0 also for --help and version, 1 for an unknown name.
int run(std::string_view program, std::span<const std::string> arguments, Environment& environment);

// One function per tool, each in a file of its own name.
int run_server(std::span<const std::string> arguments, Environment& environment);
int run_storage(std::span<const std::string> arguments, Environment& environment);
int run_quorum(std::span<const std::string> arguments, Environment& environment);
int run_config_doc(std::span<const std::string> arguments, Environment& environment);

}  // namespace castellan::cli

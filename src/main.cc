// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The program: a tool by the name it was started under (kafka-storage.sh) or by its first argument (castellan storage).

#include <iostream>

#include "cli/tools.h"
#include "io/posix/posix_file_system.h"

int main(int count, char** arguments) {
  auto files = castellan::io::make_posix_file_system();
  auto clock = castellan::io::make_system_clock();
  auto entropy = castellan::io::make_system_entropy();
  castellan::cli::Environment environment{*files, *clock, *entropy, std::cout, std::cerr};
  std::string program = count > 0 ? castellan::io::base_name(arguments[0]) : "castellan";
  std::vector<std::string> rest(arguments + std::min(count, 1), arguments + count);
  int exit_code = castellan::cli::run(program, rest, environment);
  std::cout.flush();
  return exit_code;
}

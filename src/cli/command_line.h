// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Arguments of the tools that have subcommands (kafka-storage, kafka-features, kafka-metadata-quorum...), read as Kafka's parser reads them:
// unique beginnings of long options, -fVALUE and --option=VALUE, bundled short flags, `@FILE` for arguments from a file (one a line), and its
// words for mistakes.
//
//   const CommandLine line{"kafka-storage", "The Kafka storage tool.", {{"info", "...", {{.name = "--config", .short_name = "-c", ...}}}}};
//   Parsed parsed = line.parse(arguments, environment.files);
//   if (parsed.exit_code) { print parsed.message; return *parsed.exit_code; }
//   parsed.value("--config")
//
// Pure, but for the files that `@` names.

#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"

namespace castellan::cli {

struct Option {
  enum class Kind { flag, value, repeated };

  std::string_view name;        // "--config"
  std::string_view short_name;  // "-c"
  Kind kind = Kind::flag;
  bool required = false;
  int exclusive_group = 0;      // of the options with one number above 0 only one may be given
  std::string_view help;
};

struct Command {
  std::string_view name;
  std::string_view help;
  std::vector<Option> options;
  // What may be given beside options, one or more times: "DIR". Empty: nothing.
  std::string_view positional = {};
  std::string_view positional_help = {};
};

struct Parsed {
  std::string command;
  std::map<std::string_view, std::vector<std::string>> given;  // by the option's name; a flag has no values
  std::vector<std::string> positionals;

  // Set when the tool should say `message` and end: 0 for help (to standard output), 1 for a mistake (to standard error).
  std::optional<int> exit_code;
  std::string message;

  bool has(std::string_view option) const { return given.contains(option); }
  std::optional<std::string> value(std::string_view option) const;
  const std::vector<std::string>& values(std::string_view option) const;  // in the order given
};

class CommandLine {
 public:
  CommandLine(std::string_view program, std::string_view description, std::vector<Command> commands)
      : program_(program), description_(description), commands_(std::move(commands)) {}

  Parsed parse(std::span<const std::string> arguments, const io::FileSystem& files) const;

 private:
  std::string usage(const Command* command) const;
  std::string help(const Command* command) const;

  std::string_view program_;
  std::string_view description_;
  std::vector<Command> commands_;
};

}  // namespace castellan::cli

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/command_line.h"

namespace castellan::cli {
namespace {

std::string names_of(const Option& option) { return option.short_name.empty() ? std::string(option.name) : fmt::format("{}/{}", option.name, option.short_name); }

std::string metavar_of(const Option& option) {
  std::string out;
  for (char c : option.name.substr(2)) out += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

std::string shape_of(const Option& option, std::string_view name) {
  return option.kind == Option::Kind::flag ? std::string(name) : fmt::format("{} {}", name, metavar_of(option));
}

// "-5" and "-0.5" are values, not flags.
bool is_number(std::string_view text) { return text.size() > 1 && text.substr(1).find_first_not_of("0123456789.") == std::string_view::npos; }
bool looks_like_flag(std::string_view text) { return text.size() > 1 && text[0] == '-' && !is_number(text); }

struct Found {
  const Option* option = nullptr;
  std::optional<std::string> attached;  // the value in --option=VALUE, or what follows a short option in the same argument
  std::string mistake;
};

Found find_long(const Command& command, std::string_view argument) {
  size_t equals = argument.find('=');
  std::string_view name = argument.substr(0, equals);
  Found found;
  if (equals != std::string_view::npos) found.attached = std::string(argument.substr(equals + 1));
  std::vector<std::string_view> candidates;
  for (const Option& option : command.options) {
    if (option.name == name) {
      found.option = &option;
      return found;
    }
    if (option.name.starts_with(name) && name.size() > 2) {
      candidates.push_back(option.name);
      found.option = &option;
    }
  }
  if (candidates.size() > 1) {
    found.option = nullptr;
    found.mistake = fmt::format("ambiguous option: {} could match {}", name, fmt::join(candidates, ", "));
  }
  return found;
}

Found find_short(const Command& command, std::string_view argument) {
  Found found;
  for (const Option& option : command.options) {
    if (option.short_name.empty() || !argument.starts_with(option.short_name)) continue;
    found.option = &option;
    std::string_view rest = argument.substr(2);
    if (rest.starts_with('=')) rest.remove_prefix(1);
    if (argument.size() > 2) found.attached = std::string(rest);
  }
  return found;
}

// Replaces each @FILE by the file's lines.
Result<std::vector<std::string>> expand_files(std::span<const std::string> arguments, const io::FileSystem& files) {
  std::vector<std::string> expanded;
  for (const std::string& argument : arguments) {
    if (argument.size() < 2 || argument[0] != '@') {
      expanded.push_back(argument);
      continue;
    }
    TRY(Bytes content, files.read_file(argument.substr(1)));
    std::string_view text = as_text(content);
    while (!text.empty()) {
      size_t end = text.find('\n');
      std::string line(text.substr(0, end));
      if (line.ends_with('\r')) line.pop_back();
      expanded.push_back(std::move(line));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
  }
  return expanded;
}

}  // namespace

std::optional<std::string> Parsed::value(std::string_view option) const {
  auto found = given.find(option);
  if (found == given.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

const std::vector<std::string>& Parsed::values(std::string_view option) const {
  static const std::vector<std::string> none;
  auto found = given.find(option);
  return found == given.end() ? none : found->second;
}

std::string CommandLine::usage(const Command* command) const {
  if (!command) {
    std::vector<std::string_view> names;
    for (const Command& one : commands_) names.push_back(one.name);
    return fmt::format("usage: {} [-h] {{{}}} ...\n", program_, fmt::join(names, ","));
  }
  std::string text = fmt::format("usage: {} {} [-h]", program_, command->name);
  for (size_t i = 0; i < command->options.size(); ++i) {
    const Option& option = command->options[i];
    bool joined = option.exclusive_group && i > 0 && command->options[i - 1].exclusive_group == option.exclusive_group;
    bool joins = option.exclusive_group && i + 1 < command->options.size() && command->options[i + 1].exclusive_group == option.exclusive_group;
    text += joined ? " | " : option.required ? " " : " [";
    text += shape_of(option, option.name);
    if (!option.required && !joins) text += "]";
  }
  if (!command->positional.empty()) text += fmt::format(" {}...", command->positional);
  return text + "\n";
}

std::string CommandLine::help(const Command* command) const {
  std::string text = usage(command);
  auto row = [&text](std::string_view left, std::string_view right) {
    text += fmt::format("  {}\n", left);
    text += fmt::format("                         {}\n", right);
  };
  if (!command) {
    text += fmt::format("\n{}\n\npositional arguments:\n", description_);
    for (const Command& one : commands_) row(one.name, one.help);
    text += "\nnamed arguments:\n";
    row("-h, --help", "show this help message and exit");
    return text;
  }
  if (!command->positional.empty()) {
    text += "\npositional arguments:\n";
    row(command->positional, command->positional_help);
  }
  text += "\nnamed arguments:\n";
  row("-h, --help", "show this help message and exit");
  for (const Option& option : command->options) {
    row(option.short_name.empty() ? shape_of(option, option.name) : fmt::format("{}, {}", shape_of(option, option.name), shape_of(option, option.short_name)), option.help);
  }
  return text;
}

Parsed CommandLine::parse(std::span<const std::string> given, const io::FileSystem& files) const {
  Parsed parsed;
  const Command* command = nullptr;
  auto mistake = [&](std::string text) {
    parsed.exit_code = 1;
    parsed.message = fmt::format("{}{}: error: {}\n", usage(command), program_, text);
    return parsed;
  };
  auto expanded = expand_files(given, files);
  if (!expanded) return mistake(fmt::format("could not read arguments from a file: {}", expanded.error().message));
  const std::vector<std::string>& arguments = *expanded;

  size_t at = 0;
  for (; at < arguments.size() && !command; ++at) {
    const std::string& argument = arguments[at];
    if (argument == "-h" || argument == "--help") {
      parsed.exit_code = 0;
      parsed.message = help(nullptr);
      return parsed;
    }
    if (looks_like_flag(argument)) return mistake(fmt::format("unrecognized arguments: '{}'", argument));
    std::vector<std::string> names;
    for (const Command& one : commands_) {
      if (one.name == argument) command = &one;
      names.push_back(fmt::format("'{}'", one.name));
    }
    if (!command) return mistake(fmt::format("invalid choice: '{}' (choose from {})", argument, fmt::join(names, ", ")));
  }
  if (!command) return mistake("too few arguments");
  parsed.command = command->name;

  std::map<int, const Option*> chosen;  // of each exclusive group
  bool only_values = false;             // behind "--"
  for (; at < arguments.size(); ++at) {
    std::string argument = arguments[at];
    if (argument == "--" && !only_values) {
      only_values = true;
      continue;
    }
    if (only_values || !looks_like_flag(argument)) {
      if (command->positional.empty()) return mistake(fmt::format("unrecognized arguments: '{}'", argument));
      parsed.positionals.push_back(argument);
      continue;
    }
    if (argument == "-h" || argument == "--help") {
      parsed.exit_code = 0;
      parsed.message = help(command);
      return parsed;
    }
    while (!argument.empty()) {  // once, but for bundled short flags
      Found found = argument.starts_with("--") ? find_long(*command, argument) : find_short(*command, argument);
      argument.clear();
      if (!found.mistake.empty()) return mistake(found.mistake);
      if (!found.option) return mistake(fmt::format("unrecognized arguments: '{}'", arguments[at]));
      const Option& option = *found.option;
      if (option.exclusive_group) {
        auto [other, first] = chosen.emplace(option.exclusive_group, &option);
        if (!first && other->second != &option) return mistake(fmt::format("argument {}: not allowed with argument {}", names_of(option), names_of(*other->second)));
      }
      std::vector<std::string>& values = parsed.given[option.name];
      if (option.kind == Option::Kind::flag) {
        if (!found.attached) continue;
        if (arguments[at].starts_with("--")) return mistake(fmt::format("argument {}: ignored explicit argument '{}'", names_of(option), *found.attached));
        argument = "-" + *found.attached;
        continue;
      }
      if (!found.attached) {
        if (at + 1 >= arguments.size() || looks_like_flag(arguments[at + 1])) return mistake(fmt::format("argument {}: expected one argument", names_of(option)));
        found.attached = arguments[++at];
      }
      if (option.kind == Option::Kind::value) values.clear();  // the last one counts
      values.push_back(*found.attached);
    }
  }
  for (const Option& option : command->options) {
    if (option.required && !parsed.has(option.name)) return mistake(fmt::format("argument {} is required", names_of(option)));
  }
  if (!command->positional.empty() && parsed.positionals.empty()) return mistake("too few arguments");
  return parsed;
}

}  // namespace castellan::cli

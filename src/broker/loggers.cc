// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/loggers.h"

#include <spdlog/spdlog.h>

namespace castellan::broker {

namespace {

struct Level {
  std::string_view name;
  spdlog::level::level_enum level;
};
constexpr Level levels[] = {
    {"FATAL", spdlog::level::critical}, {"ERROR", spdlog::level::err},   {"WARN", spdlog::level::warn},
    {"INFO", spdlog::level::info},      {"DEBUG", spdlog::level::debug}, {"TRACE", spdlog::level::trace},
};

}  // namespace

std::vector<Logger> loggers() {
  const auto current = spdlog::get_level();
  for (const auto& level : levels) {
    if (level.level == current) return {{"root", std::string(level.name)}};
  }
  return {{"root", "FATAL"}};
}

Result<void> check_logger_level(std::string_view name, std::string_view level) {
  if (name != "root") return fail(ErrorCode::INVALID_CONFIG, "Logger {} does not exist!", name);
  for (const auto& known : levels) {
    if (known.name == level) return {};
  }
  return fail(ErrorCode::INVALID_CONFIG, "Cannot set the log level of {} to {} as it is not a supported log level. Valid log levels are FATAL, ERROR, WARN, INFO, DEBUG, TRACE", name, level);
}

void set_logger_level(std::string_view, std::string_view level) {
  for (const auto& known : levels) {
    if (known.name == level) spdlog::set_level(known.level);
  }
}

}  // namespace castellan::broker

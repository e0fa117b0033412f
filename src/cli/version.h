// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#pragma once

#include <string_view>

namespace castellan::cli {

inline constexpr std::string_view program_version = "0.1.0";
// The release of Apache Kafka whose protocol and files this one speaks; --version of Kafka's scripts prints such a number.
inline constexpr std::string_view kafka_version = "4.4.0";

}  // namespace castellan::cli

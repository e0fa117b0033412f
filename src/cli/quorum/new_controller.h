// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The controller that add-controller adds: what its own server.properties and its directory say of it (tools.md MQ-07), in Kafka's words
// where something is missing.

#pragma once

#include "config/addresses.h"
#include "base/ids.h"
#include "config/properties.h"
#include "io/file.h"

namespace castellan::cli {

struct NewController {
  int32_t id = 0;
  Uuid directory_id;
  std::vector<config::ListenerText> listeners;  // those of controller.listener.names, in that order
};

Result<NewController> read_new_controller(const config::ConfigMap& properties, const io::FileSystem& files);

// "CONTROLLER://host:9093, ..."
std::string endpoints_text(const std::vector<config::ListenerText>& listeners);

}  // namespace castellan::cli

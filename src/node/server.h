// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One server from its configuration: locks and checks its directories, binds its ports, starts its threads, serves until
// SIGTERM or SIGINT, stops cleanly.
//
//   return node::run_server(config);       // the process's exit code: 0 after a signal, 1 with one line when it cannot run
//
// Must be called before the process has other threads: it blocks the signals that it waits for.

#pragma once

#include "config/server_config.h"

namespace castellan::node {

int run_server(const config::ServerConfig& config);

}  // namespace castellan::node

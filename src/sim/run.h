// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One seed from its first event to its verdict: a storm, then calm, in which progress is required: each client is answered, every
// node catches up, and all have the metadata that the committed log makes.
//
//   Outcome outcome = run_seed({.seed = 17});
//   if (outcome.violation) { Options smaller = shrink(options); ... }

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/checkers/report.h"
#include "sim/trouble.h"

namespace castellan::sim {

class ModelTrace;

struct Options {
  uint64_t seed = 1;
  Profile profile = Profile::brief;
  Troubles without;           // kinds of trouble that are left out
  std::optional<int> steps;   // of the storm, instead of what the seed says
  std::function<void(const std::string& line)> trace;
  ModelTrace* model_trace = nullptr;
};

struct Outcome {
  std::optional<Violation> violation;
  uint64_t events = 0;
  uint64_t messages = 0;
  int64_t simulated_ms = 0;
  int steps = 0;
  size_t epochs = 0;        // with a leader
  size_t acknowledged = 0;  // changes that clients were told of
  int64_t committed = 0;    // records
  int voter_changes = 0;
  size_t snapshots = 0;
  int lives = 0;            // of all nodes
};

Outcome run_seed(const Options& options);

// Less trouble that still fails: kinds taken away one by one, and fewer steps.
Options shrink(Options options);

// "castellan-sim replay 17 --without loss --steps 3"
std::string replay_command(const Options& options);

// Crashes the leader of a quiet quorum of three with equal logs, again and again: how long until another controller takes requests, in
// milliseconds each.
std::vector<double> failover_times_ms(uint64_t seed, int crashes);

}  // namespace castellan::sim

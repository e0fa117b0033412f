// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "raft/explorer/explorer.h"

#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "raft/text.h"

namespace castellan::raft {
namespace {

// A failed CHECK of the core is a find, not the end of the process.
void throw_check(const std::string& message) { throw Violation{message}; }

struct Frame {
  World world;
  std::vector<Event> events;
  size_t next = 0;
};

std::string state_of(const World& world) {
  std::string text;
  for (int i = 0; i < world.node_count(); ++i) text += fmt::format("      {}: {}\n", i + 1, summary_of(world.node(i).core()));
  return text;
}

}  // namespace

Exploration explore(const Bounds& bounds, uint64_t states_max) {
  set_check_failure_hook(throw_check);
  Exploration result;
  std::unordered_set<Digest, DigestHash> seen;
  std::vector<Frame> path;
  try {
    World first(bounds);
    seen.insert(first.digest());
    path.push_back({first, first.events()});
    while (!path.empty()) {
      result.depth = std::max(result.depth, path.size() - 1);
      Frame& frame = path.back();
      if (frame.next == frame.events.size()) {
        path.pop_back();
        continue;
      }
      World world = frame.world;
      world.happen(frame.events[frame.next++]);
      ++result.transitions;
      if (!world.inside()) {
        ++result.beyond;
        continue;
      }
      if (!seen.insert(world.digest()).second) continue;
      if (seen.size() >= states_max) {
        result.complete = false;
        break;
      }
      auto events = world.events();
      path.push_back({std::move(world), std::move(events)});
    }
  } catch (const Violation& violation) {
    result.violation = violation.what;
    for (const Frame& frame : path) {
      if (frame.next == 0) continue;
      result.trace.push_back(frame.world.describe(frame.events[frame.next - 1]));
    }
    if (!path.empty()) result.trace.push_back("before the last event:\n" + state_of(path.back().world));
  }
  result.states = seen.size();
  set_check_failure_hook(nullptr);
  return result;
}

}  // namespace castellan::raft

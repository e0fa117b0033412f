// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A simulator that does not find a known mistake proves nothing by finding no other. Each planted fault has to be found, from seed 1 on, by a
// seed that is clean without it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/planted_fault.h"
#include "sim/run.h"

namespace castellan::sim {
namespace {

// A run stops at the first find, so that all of them together look at a few thousand seeds. FAULT_SEEDS looks at fewer, or more.
uint64_t seeds_max() {
  const char* given = std::getenv("FAULT_SEEDS");
  return given ? std::strtoull(given, nullptr, 10) : 5000;
}

class PlantedFaultFound : public testing::TestWithParam<PlantedFault> {};

TEST_P(PlantedFaultFound, by_a_seed_that_is_clean_without_it) {
  for (uint64_t seed = 1; seed <= seeds_max(); ++seed) {
    const auto violation = [&] {
      const ScopedFault fault(GetParam().fault);
      return run_seed({.seed = seed}).violation;
    }();
    if (!violation || run_seed({.seed = seed}).violation) continue;
    fmt::print("{}: seed {}: {}: {}\n", GetParam().name, seed, violation->checker, violation->what);
    return;
  }
  FAIL() << GetParam().name << ": not found within " << seeds_max() << " seeds. " << GetParam().sentence;
}

INSTANTIATE_TEST_SUITE_P(Simulator, PlantedFaultFound, testing::ValuesIn(planted_faults().begin(), planted_faults().end()), [](const auto& info) {
  std::string name(info.param.name);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace castellan::sim

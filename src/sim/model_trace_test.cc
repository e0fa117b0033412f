// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/model_trace.h"

#include <gtest/gtest.h>

#include "sim/run.h"

namespace castellan::sim {
namespace {

Options quiet(uint64_t seed) {
  Options options{.seed = seed, .steps = 2};
  for (size_t i = 0; i < trouble_count; ++i) options.without.set(i);
  return options;
}

TEST(ModelTrace, tells_of_an_election_and_of_what_is_committed) {
  ModelTrace trace;
  Options options = quiet(3);
  options.model_trace = &trace;
  ASSERT_FALSE(run_seed(options).violation);
  const std::string text = trace.module();
  EXPECT_TRUE(text.starts_with("------------------------------ MODULE TraceData ------------------------------\n"));
  EXPECT_TRUE(text.contains("leads |-> TRUE"));
  EXPECT_TRUE(text.contains("epochs |-> <<1"));
  EXPECT_FALSE(text.contains("restarted |-> TRUE"));
  EXPECT_TRUE(text.ends_with("]\n>>\n=============================================================================\n"));
}

TEST(ModelTrace, watching_changes_nothing) {
  ModelTrace trace;
  Options options = quiet(4);
  const Outcome alone = run_seed(options);
  options.model_trace = &trace;
  const Outcome watched = run_seed(options);
  EXPECT_EQ(alone.events, watched.events);
  EXPECT_EQ(alone.committed, watched.committed);
}

TEST(ModelTrace, a_file_that_cannot_be_written_is_an_error) {
  ModelTrace trace;
  Options options = quiet(3);
  options.model_trace = &trace;
  run_seed(options);
  EXPECT_FALSE(trace.write("/no/such/folder/TraceData.tla"));
}

}  // namespace
}  // namespace castellan::sim

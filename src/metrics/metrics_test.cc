// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include <gtest/gtest.h>

#include <thread>

#include "metrics/registry.h"

namespace castellan::metrics {
namespace {

TEST(Metrics, APageNamesEachFamilyOnceAndIsSortedByName) {
  Registry registry;
  registry.gauge("b_gauge", "Goes up\nand down.").set(1.5);
  registry.counter("a_total", "Only grows.", {{"request", "Fetch"}}).add(3);
  registry.counter("a_total", "Only grows.", {{"request", "Produce"}}).add();
  EXPECT_EQ(registry.text(),
            "# HELP a_total Only grows.\n# TYPE a_total counter\na_total{request=\"Fetch\"} 3\na_total{request=\"Produce\"} 1\n"
            "# HELP b_gauge Goes up\\nand down.\n# TYPE b_gauge gauge\nb_gauge 1.5\n");
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameMetric) {
  Registry registry;
  registry.counter("a_total", "", {{"x", "1"}}).add(2);
  registry.counter("a_total", "", {{"x", "1"}}).add(2);
  EXPECT_EQ(registry.counter("a_total", "", {{"x", "1"}}).value(), 4u);
  EXPECT_EQ(registry.counter("a_total", "", {{"x", "2"}}).value(), 0u);
}

TEST(Metrics, LabelValuesAreEscaped) {
  Registry registry;
  registry.gauge("g", "h", {{"path", "C:\\a \"b\"\n"}}).set(0);
  EXPECT_EQ(registry.text(), "# HELP g h\n# TYPE g gauge\ng{path=\"C:\\\\a \\\"b\\\"\\n\"} 0\n");
}

TEST(Metrics, AHistogramCountsUpToEachBoundAndABoundIsWithinItself) {
  const double bounds[] = {1, 10};
  Registry registry;
  auto& histogram = registry.histogram("h_ms", "Times.", bounds, {{"r", "x"}});
  for (const double value : {0.5, 1.0, 2.0, 10.0, 11.0}) histogram.observe(value);
  EXPECT_EQ(registry.text(),
            "# HELP h_ms Times.\n# TYPE h_ms histogram\nh_ms_bucket{r=\"x\",le=\"1\"} 2\nh_ms_bucket{r=\"x\",le=\"10\"} 4\n"
            "h_ms_bucket{r=\"x\",le=\"+Inf\"} 5\nh_ms_sum{r=\"x\"} 24.5\nh_ms_count{r=\"x\"} 5\n");
}

TEST(Metrics, AReaderIsAskedAtEachPage) {
  Registry registry;
  int asked = 0;
  registry.on_read([&](Readings& to) { to.gauge("asked", "How often.", ++asked); });
  EXPECT_NE(registry.text().find("\nasked 1\n"), std::string::npos);
  EXPECT_NE(registry.text().find("\nasked 2\n"), std::string::npos);
}

TEST(Metrics, NothingIsLostWhenThreadsBumpTogether) {
  const double bounds[] = {1};
  Registry registry;
  auto& counter = registry.counter("c_total", "");
  auto& histogram = registry.histogram("h", "", bounds);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) {
        counter.add();
        histogram.observe(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), 40'000u);
  EXPECT_EQ(histogram.snapshot().count, 40'000u);
  EXPECT_EQ(histogram.snapshot().sum, 40'000);
}

TEST(MetricsDeathTest, AMetricOfTwoTypesIsOurMistake) {
  Registry registry;
  registry.counter("x", "");
  EXPECT_DEATH(registry.gauge("x", ""), "of two types");
}

}  // namespace
}  // namespace castellan::metrics

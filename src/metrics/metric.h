// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What is measured: counters that only grow, gauges that go up and down, histograms of how long or how large. They are
// bumped where things happen, by any thread, without a lock or a call to the system, and read when somebody asks
// (metrics/registry.h).
//
//   Counter& requests = registry.counter("kafka_network_requestmetrics_requests_total", "Requests received.", {{"request", "Fetch"}});
//   requests.add();
//
// Owner: the registry that made it. Any thread. A reader sees each value whole; values of one moment may differ by a bump.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace castellan::metrics {

class Counter {
 public:
  void add(uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Counts values up to each of its bounds. The unit is that of the metric's name.
class Histogram {
 public:
  // `bounds` rise; a value equal to a bound is within it, one above all of them is only in the total.
  explicit Histogram(std::span<const double> bounds);

  void observe(double value);

  struct Snapshot {
    std::vector<uint64_t> within;  // as many as bounds: values up to that bound, smaller ones too
    uint64_t count = 0;
    double sum = 0;
  };
  Snapshot snapshot() const;
  const std::vector<double>& bounds() const { return bounds_; }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<uint64_t>[]> buckets_;  // one more than bounds
  std::atomic<double> sum_{0};
};

}  // namespace castellan::metrics

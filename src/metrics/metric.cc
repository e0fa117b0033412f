// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "metrics/metric.h"

#include <algorithm>

#include "base/check.h"

namespace castellan::metrics {

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), buckets_(std::make_unique<std::atomic<uint64_t>[]>(bounds.size() + 1)) {
  CHECK(std::ranges::is_sorted(bounds_, std::ranges::less_equal{}), "the bounds of a histogram must rise");
}

void Histogram::observe(double value) {
  const auto bucket = static_cast<size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
  buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

Histogram::Snapshot Histogram::snapshot() const {
  Snapshot snapshot;
  // The count is the sum of what was read, so that it never contradicts the buckets.
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    snapshot.count += buckets_[i].load(std::memory_order_relaxed);
    if (i < bounds_.size()) snapshot.within.push_back(snapshot.count);
  }
  snapshot.sum = sum_.load(std::memory_order_relaxed);
  return snapshot;
}

}  // namespace castellan::metrics

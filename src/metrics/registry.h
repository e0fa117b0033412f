// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// All metrics of a node by name and labels, and their text in Prometheus' form (exposition format 0.0.4), which the node
// serves over HTTP. doc/metrics.md has the names and how they follow Apache Kafka's.
//
//   Registry registry;
//   Counter& bytes = registry.counter("castellan_bytes_total", "Bytes received.", {{"listener", "PLAINTEXT"}});
//   registry.on_read([&](Readings& to) { to.gauge("castellan_uptime_seconds", "Since the start.", seconds()); });
//   std::string page = registry.text();
//
// A metric is made once, at a start or when its first event comes, and held by whoever bumps it; asking again for the same
// name and labels gives the same one. What can be asked for at any time is better read then than kept: on_read.
//
// Any thread; making and reading take a lock, bumping does not. Lives longer than those who hold its metrics.

#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "metrics/metric.h"

namespace castellan::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

// What a reader adds to a page: values of this moment.
class Readings {
 public:
  virtual ~Readings() = default;
  virtual void counter(std::string_view name, std::string_view help, double value, const Labels& labels = {}) = 0;
  virtual void gauge(std::string_view name, std::string_view help, double value, const Labels& labels = {}) = 0;
};

class Registry {
 public:
  Counter& counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, std::span<const double> bounds, Labels labels = {});

  // Called at each text(), on its thread; must not use the registry itself.
  void on_read(std::function<void(Readings&)> read);

  // Sorted by name, then in the order in which the metrics were made.
  std::string text() const;

 private:
  struct Series {
    Labels labels;
    std::variant<std::unique_ptr<Counter>, std::unique_ptr<Gauge>, std::unique_ptr<Histogram>> metric;
  };
  struct Family {
    std::string help;
    std::deque<Series> series;
  };
  template <class Metric, class... Arguments>
  Metric& find_or_make(std::string_view name, std::string_view help, Labels labels, Arguments&&... arguments);

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
  std::vector<std::function<void(Readings&)>> readers_;
};

}  // namespace castellan::metrics

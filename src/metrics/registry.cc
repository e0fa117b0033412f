// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "metrics/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace castellan::metrics {

namespace {

std::string escaped(std::string_view text, bool in_quotes) {
  std::string to;
  for (const char c : text) {
    if (c == '\\') to += "\\\\";
    else if (c == '\n') to += "\\n";
    else if (c == '"' && in_quotes) to += "\\\"";
    else to += c;
  }
  return to;
}

// The shortest text that reads back as the same number; infinities by their Prometheus names.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string in_braces(const Labels& labels, std::string_view last = {}) {
  std::string to;
  for (const auto& [name, value] : labels) to += fmt::format("{}{}=\"{}\"", to.empty() ? "" : ",", name, escaped(value, true));
  if (!last.empty()) to += fmt::format("{}{}", to.empty() ? "" : ",", last);
  return to.empty() ? to : "{" + to + "}";
}

// One page in the making: families by name, each with its lines.
class Page : public Readings {
 public:
  void counter(std::string_view name, std::string_view help, double value, const Labels& labels) override { line(name, help, "counter", value, labels); }
  void gauge(std::string_view name, std::string_view help, double value, const Labels& labels) override { line(name, help, "gauge", value, labels); }

  void histogram(std::string_view name, std::string_view help, const Histogram& histogram, const Labels& labels) {
    std::string& lines = family(name, help, "histogram");
    const auto snapshot = histogram.snapshot();
    for (size_t i = 0; i < snapshot.within.size(); ++i) {
      lines += fmt::format("{}_bucket{} {}\n", name, in_braces(labels, fmt::format("le=\"{}\"", number(histogram.bounds()[i]))), snapshot.within[i]);
    }
    lines += fmt::format("{}_bucket{} {}\n", name, in_braces(labels, "le=\"+Inf\""), snapshot.count);
    lines += fmt::format("{}_sum{} {}\n", name, in_braces(labels), number(snapshot.sum));
    lines += fmt::format("{}_count{} {}\n", name, in_braces(labels), snapshot.count);
  }

  std::string text() const {
    std::string to;
    for (const auto& [name, lines] : families_) to += lines;
    return to;
  }

 private:
  std::string& family(std::string_view name, std::string_view help, std::string_view type) {
    auto found = families_.find(name);
    if (found == families_.end()) {
      found = families_.emplace(name, fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(help, false), name, type)).first;
    }
    return found->second;
  }
  void line(std::string_view name, std::string_view help, std::string_view type, double value, const Labels& labels) {
    family(name, help, type) += fmt::format("{}{} {}\n", name, in_braces(labels), number(value));
  }

  std::map<std::string, std::string, std::less<>> families_;
};

}  // namespace

template <class Metric, class... Arguments>
Metric& Registry::find_or_make(std::string_view name, std::string_view help, Labels labels, Arguments&&... arguments) {
  const std::lock_guard lock(mutex_);
  auto found = families_.find(name);
  if (found == families_.end()) found = families_.emplace(name, Family{.help = std::string(help), .series = {}}).first;
  auto& series = found->second.series;
  const auto known = std::ranges::find(series, labels, &Series::labels);
  if (known != series.end()) {
    auto* metric = std::get_if<std::unique_ptr<Metric>>(&known->metric);
    CHECK(metric, "metric {} is of two types", name);
    return **metric;
  }
  CHECK(series.empty() || std::holds_alternative<std::unique_ptr<Metric>>(series.front().metric), "metric {} is of two types", name);
  auto metric = std::make_unique<Metric>(std::forward<Arguments>(arguments)...);
  Metric& made = *metric;
  series.push_back({.labels = std::move(labels), .metric = std::move(metric)});
  return made;
}

Counter& Registry::counter(std::string_view name, std::string_view help, Labels labels) {
  return find_or_make<Counter>(name, help, std::move(labels));
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, Labels labels) {
  return find_or_make<Gauge>(name, help, std::move(labels));
}

Histogram& Registry::histogram(std::string_view name, std::string_view help, std::span<const double> bounds, Labels labels) {
  return find_or_make<Histogram>(name, help, std::move(labels), bounds);
}

void Registry::on_read(std::function<void(Readings&)> read) {
  const std::lock_guard lock(mutex_);
  readers_.push_back(std::move(read));
}

std::string Registry::text() const {
  const std::lock_guard lock(mutex_);
  Page page;
  for (const auto& [name, family] : families_) {
    for (const auto& series : family.series) {
      if (const auto* counter = std::get_if<std::unique_ptr<Counter>>(&series.metric)) {
        page.counter(name, family.help, static_cast<double>((*counter)->value()), series.labels);
      } else if (const auto* gauge = std::get_if<std::unique_ptr<Gauge>>(&series.metric)) {
        page.gauge(name, family.help, (*gauge)->value(), series.labels);
      } else {
        page.histogram(name, family.help, *std::get<std::unique_ptr<Histogram>>(series.metric), series.labels);
      }
    }
  }
  for (const auto& read : readers_) read(page);
  return page.text();
}

}  // namespace castellan::metrics

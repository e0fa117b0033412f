// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a listener counts: connections, bytes, requests and how long each took until its answer was out, by API. Bumped on the
// reactor, without a lock; an API's own metrics are made when its first request comes.
//
// Internal to net/. Owner: its listener.

#pragma once

#include <array>
#include <string>

#include "base/time.h"
#include "metrics/registry.h"
#include "wire/api.h"

namespace castellan::net {

class ListenerMetrics {
 public:
  ListenerMetrics(metrics::Registry& registry, const std::string& listener);

  metrics::Counter& accepted;
  metrics::Counter& bytes_in;
  metrics::Counter& bytes_out;
  metrics::Counter& refused;  // connections that were closed for what they sent, or as one too many
  metrics::Gauge& connections;

  // `took`: from the whole request to the whole answer, the time that it waited on purpose included.
  void answered(const wire::ApiInfo& api, Duration took);

 private:
  struct OfApi {
    metrics::Counter* requests = nullptr;
    metrics::Histogram* milliseconds = nullptr;
  };
  OfApi& of(const wire::ApiInfo& api);

  metrics::Registry& registry_;
  std::string listener_;
  std::array<OfApi, 128> by_api_{};
};

}  // namespace castellan::net

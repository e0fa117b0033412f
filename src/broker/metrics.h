// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a broker counts, under the names that doc/metrics.md gives. Events are counted where they happen; what can be read off
// the partitions at any time (how many, how many are offline) is set when somebody is about to read the page.
//
// Owner: Broker. Its loop.

#pragma once

#include "metrics/registry.h"

namespace castellan::broker {

class Broker;

struct Metrics {
  explicit Metrics(metrics::Registry& registry);

  // Kafka's BrokerTopicMetrics, over all topics.
  metrics::Counter& messages_in;
  metrics::Counter& bytes_in;
  metrics::Counter& bytes_out;
  metrics::Counter& produce_requests;  // a partition each, as Kafka counts them
  metrics::Counter& fetch_requests;
  metrics::Counter& failed_produce_requests;
  metrics::Counter& failed_fetch_requests;

  metrics::Counter& metadata_errors;   // what the metadata asks for and could not be done
  metrics::Counter& damage_found;      // ranges of segments whose bytes are not what was written
  metrics::Counter& directory_failures;

  // Reads the gauges off the broker.
  void update(Broker& broker);

 private:
  metrics::Gauge& state_;
  metrics::Gauge& partitions_;
  metrics::Gauge& leaders_;
  metrics::Gauge& offline_replicas_;
  metrics::Gauge& under_min_isr_;
  metrics::Gauge& under_replicated_;
  metrics::Gauge& offline_directories_;
  metrics::Gauge& damaged_partitions_;
  metrics::Gauge& fetch_sessions_;
  metrics::Gauge& log_bytes_;
  metrics::Gauge& applied_offset_;
};

}  // namespace castellan::broker

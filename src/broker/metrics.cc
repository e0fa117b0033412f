// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "broker/metrics.h"

#include "broker/broker.h"
#include "broker/lifecycle.h"
#include "broker/partitions.h"
#include "image/image.h"
#include "partition/fetch_session.h"

namespace castellan::broker {

#define TOPIC_METRIC "kafka_server_brokertopicmetrics_"
#define REPLICA_METRIC "kafka_server_replicamanager_"

Metrics::Metrics(metrics::Registry& registry)
    : messages_in(registry.counter(TOPIC_METRIC "messagesin_total", "Records appended for clients.")),
      bytes_in(registry.counter(TOPIC_METRIC "bytesin_total", "Bytes of records appended for clients.")),
      bytes_out(registry.counter(TOPIC_METRIC "bytesout_total", "Bytes of records given to clients.")),
      produce_requests(registry.counter(TOPIC_METRIC "totalproducerequests_total", "Partitions that were produced to, one for each in each request.")),
      fetch_requests(registry.counter(TOPIC_METRIC "totalfetchrequests_total", "Partitions that were fetched from, one for each in each request.")),
      failed_produce_requests(registry.counter(TOPIC_METRIC "failedproducerequests_total", "Partitions in produce requests that were answered with an error.")),
      failed_fetch_requests(registry.counter(TOPIC_METRIC "failedfetchrequests_total", "Partitions in fetch requests that were answered with an error.")),
      metadata_errors(registry.counter("kafka_server_brokermetadatametrics_metadata_apply_error_count",
                                       "What the metadata asks of this broker and could not be done: a log that could not be opened, a setting that cannot be read.")),
      damage_found(registry.counter("castellan_damage_found_total", "Places in segment files whose bytes are not what was written; the log names file and position.")),
      directory_failures(registry.counter("castellan_log_directory_failures_total", "Log directories that went offline.")),
      state_(registry.gauge("kafka_server_kafkaserver_brokerstate", "0 not running, 1 starting, 2 catching up, 3 running, 6 leaving, 7 stopping.")),
      partitions_(registry.gauge(REPLICA_METRIC "partitioncount", "Partitions kept here.")),
      leaders_(registry.gauge(REPLICA_METRIC "leadercount", "Partitions led by this broker.")),
      offline_replicas_(registry.gauge(REPLICA_METRIC "offlinereplicacount", "Partitions kept here that cannot be served; the log says why.")),
      under_min_isr_(registry.gauge(REPLICA_METRIC "underminisrpartitioncount", "Partitions led here with fewer in-sync replicas than min.insync.replicas.")),
      under_replicated_(registry.gauge(REPLICA_METRIC "underreplicatedpartitions", "Partitions led here with fewer in-sync replicas than replicas.")),
      offline_directories_(registry.gauge("kafka_log_logmanager_offlinelogdirectorycount", "Log directories that are offline.")),
      damaged_partitions_(registry.gauge("castellan_damaged_partitions", "Partitions kept here with records that cannot be read any more.")),
      fetch_sessions_(registry.gauge("kafka_server_fetchsessioncache_numincrementalfetchsessions", "Fetch sessions.")),
      log_bytes_(registry.gauge("castellan_log_bytes", "Bytes of all segments of the partitions kept here.")),
      applied_offset_(registry.gauge("kafka_server_brokermetadatametrics_last_applied_record_offset", "Offset of the last metadata record that this broker acts by.")) {}

void Metrics::update(Broker& broker) {
  size_t leaders = 0, offline = 0, under_min_isr = 0, under_replicated = 0, damaged = 0;
  uint64_t bytes = 0;
  for (const auto& [id, partition] : broker.partitions().all()) {
    if (partition->leads()) {
      ++leaders;
      under_min_isr += partition->under_min_isr();
      under_replicated += partition->metadata().isr.size() < partition->metadata().replicas.size();
    }
    if (partition->offline()) {
      ++offline;
    } else {
      damaged += !partition->log()->damaged_ranges().empty();
      bytes += partition->log()->size();
    }
  }
  state_.set(broker.lifecycle().kafka_state());
  partitions_.set(static_cast<double>(broker.partitions().all().size()));
  leaders_.set(static_cast<double>(leaders));
  offline_replicas_.set(static_cast<double>(offline));
  under_min_isr_.set(static_cast<double>(under_min_isr));
  under_replicated_.set(static_cast<double>(under_replicated));
  offline_directories_.set(static_cast<double>(std::ranges::count_if(broker.partitions().directories().all(), [](const auto& one) { return !one->online(); })));
  damaged_partitions_.set(static_cast<double>(damaged));
  fetch_sessions_.set(static_cast<double>(broker.fetch_sessions().size()));
  log_bytes_.set(static_cast<double>(bytes));
  applied_offset_.set(static_cast<double>(broker.image().last_offset.value));
}

}  // namespace castellan::broker

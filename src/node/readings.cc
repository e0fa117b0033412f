// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What is read off a node at the moment when its metrics are asked for: the process, the metadata, the quorum. Names: doc/metrics.md.

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "image/image.h"
#include "node/observability.h"

namespace castellan::node {

namespace {

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (!directory) return -1;
  int count = 0;
  while (::readdir(directory)) ++count;
  ::closedir(directory);
  return count - 3;  // ".", ".." and the one that reads
}

}  // namespace

void Observability::read_process(metrics::Readings& to) const {
  to.gauge("process_resident_memory_bytes", "Memory of the process that is in use.", resident_bytes());
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6; };
  to.counter("process_cpu_seconds_total", "Processor time used.", seconds(usage.ru_utime) + seconds(usage.ru_stime));
  to.gauge("process_start_time_seconds", "When the node started, in seconds since 1970.", static_cast<double>(started_wall_.milliseconds) / 1000);
  to.gauge("process_open_fds", "Open file descriptors.", open_descriptors());
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  to.gauge("process_max_fds", "Most open file descriptors.", static_cast<double>(limit.rlim_cur));
  to.gauge("castellan_uptime_seconds", "Time since the node started.",
           std::chrono::duration<double>(parts_->clock.monotonic() - started_).count());
}

void Observability::read_metadata(metrics::Readings& to) const {
  const auto view = parts_->metadata->view();
  const auto image = parts_->metadata->image();
  to.gauge("kafka_controller_kafkacontroller_activecontrollercount", "1 on the active controller, 0 elsewhere.", view.active ? 1 : 0);
  int fenced = 0, active = 0, leaving = 0;
  for (const auto& [id, broker] : image->cluster.brokers) {
    if (broker.fenced) ++fenced;
    else ++active;
    leaving += broker.in_controlled_shutdown;
  }
  to.gauge("kafka_controller_kafkacontroller_activebrokercount", "Registered brokers that are not fenced.", active);
  to.gauge("kafka_controller_kafkacontroller_fencedbrokercount", "Registered brokers that are fenced.", fenced);
  to.gauge("castellan_leaving_brokers", "Brokers that are handing their leaderships over.", leaving);
  to.gauge("kafka_controller_kafkacontroller_globaltopiccount", "Topics.", static_cast<double>(image->topics.by_id.size()));
  to.gauge("kafka_controller_kafkacontroller_globalpartitioncount", "Partitions.", static_cast<double>(image->topics.partition_count));
  to.gauge("kafka_controller_kafkacontroller_offlinepartitionscount", "Partitions without a leader.", static_cast<double>(image->topics.leaderless.size()));
  to.gauge("kafka_controller_kafkacontroller_preferredreplicaimbalancecount", "Partitions led by another than their first replica.",
           static_cast<double>(image->topics.imbalanced.size()));
  to.gauge("castellan_reassigning_partitions", "Partitions whose replicas are being moved.", static_cast<double>(image->topics.reassigning.size()));
  // The node stops at the first record that it cannot apply, so while it answers there was none.
  to.counter("kafka_controller_kafkacontroller_metadataerrorcount", "Metadata records that could not be applied.", 0);
  to.gauge("kafka_controller_kafkacontroller_lastappliedrecordoffset", "Offset of the last record in the published image.",
           static_cast<double>(image->last_offset.value));
  to.gauge("kafka_controller_kafkacontroller_lastappliedrecordtimestamp", "Its timestamp, in milliseconds since 1970.",
           static_cast<double>(image->last_timestamp.milliseconds));
  to.gauge("kafka_controller_kafkacontroller_lastappliedrecordlagms", "How long ago the record was written that this node last applied; the active controller's is 0.",
           view.active || image->last_timestamp.milliseconds < 0
               ? 0
               : static_cast<double>(std::max<int64_t>(0, parts_->clock.wall().milliseconds - image->last_timestamp.milliseconds)));
  to.gauge("kafka_server_metadataloader_currentmetadataversion", "The finalized metadata.version as a level.",
           image->features.metadata_version ? image->features.metadata_version->level() : -1);
  to.gauge("castellan_metadata_standstill_seconds", "Time since the committed end of the metadata last moved; an idle quorum moves it every half second.",
           std::chrono::duration<double>(parts_->clock.monotonic() - view.advanced).count());
}

void Observability::read_quorum(metrics::Readings& to) const {
  if (!report_) return;
  const auto& report = *report_;
  for (const char* state : {"leader", "follower", "candidate", "prospective", "unattached", "resigned", "observer"}) {
    to.gauge("kafka_server_raftmetrics_current_state", "1 for the state of this replica.", report.state == state ? 1 : 0, {{"current_state", state}});
  }
  to.gauge("kafka_server_raftmetrics_current_leader", "Node id of the leader, -1 for none.", report.leader.value);
  to.gauge("kafka_server_raftmetrics_current_vote", "Node id that this replica voted for in this epoch, -1 for none.", report.voted_for.value);
  to.gauge("kafka_server_raftmetrics_current_epoch", "Epoch of the quorum.", report.epoch.value);
  to.gauge("kafka_server_raftmetrics_high_watermark", "End of what is committed of the metadata log.", static_cast<double>(report.high_watermark.value));
  to.gauge("kafka_server_raftmetrics_log_end_offset", "End of this replica's metadata log.", static_cast<double>(report.log_end.value));
  to.gauge("kafka_server_raftmetrics_log_end_epoch", "Epoch of its last record.", report.log_end_epoch.value);
  to.gauge("castellan_metadata_log_start_offset", "Start of this replica's metadata log.", static_cast<double>(report.log_start.value));
  to.gauge("kafka_server_raftmetrics_number_of_voters", "Voters of the quorum.", static_cast<double>(report.voters));
  to.gauge("kafka_server_raftmetrics_number_of_observers", "Observers that the leader has heard of; 0 elsewhere.", static_cast<double>(report.observers));
  to.gauge("castellan_raft_waiting_bytes", "Bytes of records that wait for the write that runs.", static_cast<double>(report.waiting_bytes));
  to.counter("castellan_quorum_leader_changes_total", "Changes of the leader, or to none, that this node has seen since its start.",
             static_cast<double>(parts_->metadata->view().leader_changes));
}

}  // namespace castellan::node

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A simulated node: a machine with a disk and clocks, and on it, while it runs, the metadata half of a server, quorum::MetadataNode,
// on four lanes. It can be started, ended in all the ways in which processes end, stopped and continued, and given an empty disk.

#pragma once

#include <memory>
#include <string>

#include "quorum/raft_loop.h"
#include "sim/checkers/seen.h"
#include "sim/disk.h"
#include "sim/network.h"

namespace castellan::sim {

class Node final : public Host {
 public:
  struct Setup {
    int id = 1;
    bool controller = true;             // else a broker, which only observes
    std::vector<int> voters;            // of the cluster when it begins
    std::vector<int> controllers;       // all that there are
    bool static_voters = false;         // kraft.version 0
    std::string properties;             // more lines of server.properties
    int64_t clock_ppm = 0;
  };
  Node(Schedule& schedule, Network& network, Prng& random, const Trace& trace, Setup setup);
  ~Node() override;

  // What the storage tool does, on an empty disk. Later disks get another directory id, and know no voters.
  void format();
  Result<void> start();
  // kill -9: what was written is still there.
  void kill();
  // The power fails: what was not synced is lost, or in part when `random` is given.
  void crash(Prng* random);
  // SIGTERM; `ended` is called when the process has come to its end.
  void stop(std::function<void()> ended);
  // SIGSTOP and SIGCONT.
  void pause_until(MonotonicTime time);
  void resume();
  // When it last went on after a pause, or will.
  MonotonicTime paused_until() const { return paused_until_; }
  // Syncs take up to `longest` from now on.
  void set_sync_time(Duration longest);
  // Another disk, formatted, with a directory id of its own. The node is down.
  void replace_disk();
  // The metadata log's folder is formatted anew under the same directory id. The node is down.
  void wipe_log();

  bool running() const override { return node_ != nullptr; }
  int life() const override { return life_; }
  void deliver(quorum::MetadataRequest request, quorum::MetadataNode::Reply reply) override;
  void tell(std::function<void()> work) override { raft_->post(std::move(work)); }

  int id() const { return setup_.id; }
  const Setup& setup() const { return setup_; }
  raft::ReplicaKey key() const { return {NodeId{setup_.id}, directory_id_}; }
  quorum::MetadataNode& metadata() { return *node_; }
  // Null before the loop's first step.
  const raft::Core* core() const;
  Seen seen() const;
  const Schedule::Lane* raft_lane() const { return raft_.get(); }
  const Schedule::Lane* metadata_lane() const { return metadata_.get(); }
  bool owns(const Schedule::Lane* lane) const { return lane && (lane == raft_.get() || lane == metadata_.get() || lane == sync_.get() || lane == workers_.get()); }
  Disk& disk() { return *disk_; }
  const Disk& disk() const { return *disk_; }
  SkewedClock& clock() { return clock_; }
  const std::string& fatal() const { return fatal_; }  // why it cannot go on
  void on_snapshot(std::function<void(Node&, const std::string& path)> told) { snapshot_told_ = std::move(told); }

  static inline const std::string directory = "/metadata";
  static inline const std::string folder = "/metadata/__cluster_metadata-0";
  static inline const std::string cluster_id = "cluster-cluster-cluste";

 private:
  void format_folder();
  void drop();
  void new_disk();

  Schedule& schedule_;
  Network& network_;
  Prng& random_;
  const Trace& trace_;
  const Setup setup_;
  config::ServerConfigPtr config_;
  SkewedClock clock_;
  std::unique_ptr<Disk> disk_;
  int disks_ = 0;
  DirectoryId directory_id_;
  Duration sync_longest_ = std::chrono::microseconds(3000);
  std::unique_ptr<Schedule::Lane> raft_, metadata_, sync_, workers_;
  std::unique_ptr<quorum::MetadataNode> node_;
  int life_ = 0;
  MonotonicTime paused_until_;
  std::string fatal_;
  std::function<void(Node&, const std::string&)> snapshot_told_;
};

}  // namespace castellan::sim

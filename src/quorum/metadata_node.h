// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The metadata half of a node: the quorum's replica with its log on disk, the image of the metadata, and the controller when this
// replica leads. Everything else asks it through this class.
//
//   TRY(auto node, MetadataNode::open(surroundings, options));      // reads the disk; blocks; errors name the file
//   node->add_reader(&reader);                                      // images for a broker's threads
//   node->start();                                                  // from now on the two loops run
//   node->handle({.api_key = 19, ...}, [](Result<Bytes> body) {...});
//   node->stop([] { ... });                                         // hands leadership over, syncs, closes
//
// Threads: two loops, `raft` (core and metadata log) and `metadata` (image and controller), each on the executor it was given.
// handle, start, stop and the small questions may be called on any thread; answers come on a thread of this class and must not block.
//
// The caller holds the lock of the metadata directory before it opens this (design, "Locks").

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "config/server_config.h"
#include "io/channel.h"
#include "io/clock.h"
#include "io/file.h"
#include "quorum/executor.h"
#include "quorum/image_reader.h"
#include "raft/types.h"

namespace castellan::quorum {

class MetadataLoop;
class RaftLoop;
struct QuorumReport;

struct Surroundings {
  io::FileSystem& files;
  io::Clock& clock;
  io::Channel* channel = nullptr;  // to other nodes, called on the raft executor; none: there are no others
  Executor& raft;
  Executor& metadata;
  Executor& log_sync;  // blocks in fdatasync of the metadata log and of quorum-state
  Executor& workers;   // blocks in everything else: snapshots, cold reads
};

struct Options {
  config::ServerConfigPtr config;
  std::string cluster_id;
  std::string directory;         // metadata.log.dir
  DirectoryId directory_id;      // of its meta.properties
  // The controller listeners, by upper-case name, as other nodes reach them; none on a broker.
  raft::Endpoints controller_listeners;
  uint64_t seed = 0;
  // While this replica does not lead, so long may committed records wait for others, to be applied together with them. For a
  // node whose image nobody waits for; a new leader applies what is waiting at once.
  Duration standby_patience{0};
  // A line for the operator: 0 debug, 1 info, 2 warning, 3 error. Any thread.
  std::function<void(int level, const std::string& line)> print;
  // The node cannot go on (a disk error on the metadata directory, a quorum that contradicts itself). Called once.
  std::function<void(const std::string& reason)> fatal;
};

struct MetadataRequest {
  int16_t api_key = 0;
  int16_t api_version = 0;
  Bytes body;
  std::string listener;     // where it came in, upper case; in process: the first controller listener
  std::string principal;    // "User:alice"; empty for the node itself
  std::string client_host;
  std::string client_id;
  bool forwarded = false;   // by a broker, for a client of its own
};

struct QuorumView {
  Epoch epoch;
  std::optional<NodeId> leader;
  std::optional<raft::Endpoint> leader_endpoint;  // on the default controller listener
  bool is_leader = false;
  bool active = false;                            // leads, and the controller takes requests
  int16_t kraft_version = 0;
  Offset high_watermark{-1};
  Offset applied{-1};                             // last offset of the published image
  uint64_t leader_changes = 0;                    // to another leader or none, since the start
  Now leader_since;                               // the leader, or its absence, is news of this time
  MonotonicTime advanced;                         // the high watermark last moved
};

class MetadataNode {
 public:
  using Reply = std::function<void(Result<Bytes> body)>;

  // Reads quorum-state, snapshots and the log, and decides whether this directory may be used at all.
  static Result<std::unique_ptr<MetadataNode>> open(Surroundings surroundings, Options options);
  ~MetadataNode();

  // The loops, for whoever runs their executors (Mailbox::run(clock, &loop)).
  Loop& raft_loop();
  Loop& metadata_loop();

  void start();
  // Resigns, writes what is waiting, closes the log. Requests that come later get NOT_CONTROLLER. `done` is called once, on the raft
  // executor, within some ten seconds. Work for this node may still be queued then: close the executors before it is destroyed.
  void stop(std::function<void()> done);

  // True for the APIs that handle() answers: the quorum's and the controller's.
  static bool handles(int16_t api_key);
  // Answers with the body of the response in the request's version. An Error instead is for bodies that cannot be decoded
  // (INVALID_REQUEST), and NOT_CONTROLLER for a controller's API when this node is not the active one.
  void handle(MetadataRequest request, Reply reply);

  // The body that says `error` in the way of this request's API, for a caller that must answer with one (a listener). The error itself when
  // the API is not a controller's or the body cannot be decoded.
  static Result<Bytes> error_body(const MetadataRequest& request, const Error& error);

  // Readers get the current image at once. A removed reader is not called any more when this returns, and no reply waits for it.
  void add_reader(ImageReader* reader);
  void remove_reader(ImageReader* reader);
  // The last published; never null, empty before the first record.
  ImagePtr image() const;
  QuorumView view() const;
  // `changed` is called, on the metadata executor, whenever the view's leader, epoch or activity changed.
  void on_view_changed(std::function<void(const QuorumView&)> changed);
  // `done` is called on the raft executor; never when the loops have ended.
  void report(std::function<void(QuorumReport)> done);

 private:
  MetadataNode() = default;

  std::unique_ptr<RaftLoop> raft_;
  std::unique_ptr<MetadataLoop> metadata_;
};

}  // namespace castellan::quorum

// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The broker half of a node: takes requests from its listeners, keeps the partitions that the metadata gives it, and the
// coordinators of groups. A loop object: everything runs on one loop, so nothing here locks; what blocks (syncs,
// compaction) goes to workers.
//
//   Broker broker(surroundings, options);
//   broker.open_directories();                    // locks are held by the caller already
//   broker.on_image(image);                       // each newer image; the first one opens the logs
//   broker.handle(request);
//   broker.tick();                                // at Loop::wake_at, or earlier
//   broker.begin_shutdown([] { ... });            // leaders move away, logs are closed
//
// Owner: node/. Thread: its loop.

#pragma once

#include <memory>

#include "base/complaints.h"
#include "base/prng.h"
#include "broker/deadlines.h"
#include "broker/loop.h"
#include "broker/request.h"
#include "config/server_config.h"
#include "io/clock.h"
#include "io/file.h"

namespace castellan::image {
struct Image;
}
namespace castellan::log {
struct Notice;
}
namespace castellan::metrics {
class Registry;
}
namespace castellan::partition {
class FetchSessions;
}

namespace castellan::broker {

class Compaction;
class Groups;
class Lifecycle;
class Maintenance;
struct Metrics;
class Partition;
class Partitions;
class ProducerIds;
class TopicCreation;
class Verification;

using ImagePtr = std::shared_ptr<const image::Image>;

// All of it outlives the broker.
struct Surroundings {
  io::FileSystem& files;
  io::Clock& clock;
  Loop& loop;
  Workers& workers;
  ControllerChannel& controller;
  Workers* readers = nullptr;  // for cold reads, which should not wait behind a compaction; none: workers
};

struct Options {
  config::ServerConfigPtr server;         // as the file gave it
  std::string cluster_id;
  IncarnationId incarnation;              // new for each start
  uint64_t seed = 0;
  // What the node registers: listener name, host, port, with what was 0 or empty filled in.
  std::vector<config::Listener> advertised_listeners;
  // The finalized level of kraft.version, which the quorum knows; none: not told to clients.
  std::function<int16_t()> kraft_version;
  // Where the broker counts, outliving it; none: for itself only.
  metrics::Registry* metrics = nullptr;
  // The effective settings are others now: what the broker itself does not hold may follow. On its loop.
  std::function<void(const config::ServerConfig&)> settings_changed;
};

class Broker {
 public:
  Broker(Surroundings surroundings, Options options);
  ~Broker();

  // --- for the node
  // Reads the log directories. An error when none can be used.
  Result<void> open_directories();
  // Registers with the controller and heartbeats; `ready` is called once, when the broker is unfenced, `failed` when the node
  // must stop: it could not register, or no log directory is left.
  void start(std::function<void()> ready, std::function<void(std::string)> failed);
  void on_image(ImagePtr image);
  void handle(RequestPtr request);
  void tick();
  // The gauges as they are now.
  void update_metrics();
  // Why this broker should not be sent clients, in words; empty when it is unfenced and up to date.
  std::string not_ready_because() const;
  // Leaders move away, then everything is written down and closed; `done` is called once, also when the controller does
  // not answer. No request is answered after that.
  void begin_shutdown(std::function<void()> done);

  // --- for handlers and parts
  Now now() const { return surroundings_.clock.now(); }
  const image::Image& image() const { return *image_; }
  const ImagePtr& image_ptr() const { return image_; }
  // The file's settings, and those with what the image's dynamic settings say.
  const config::ServerConfig& static_server() const { return *options_.server; }
  const config::ServerConfig& server() const { return *effective_; }
  NodeId node_id() const { return options_.server->node_id; }
  const Options& options() const { return options_; }
  Surroundings& surroundings() { return surroundings_; }
  Loop& loop() { return surroundings_.loop; }
  Workers& readers() { return surroundings_.readers ? *surroundings_.readers : surroundings_.workers; }
  Deadlines& deadlines() { return deadlines_; }
  Prng& prng() { return prng_; }

  Partitions& partitions() { return *partitions_; }
  Groups& groups() { return *groups_; }
  partition::FetchSessions& fetch_sessions() { return *fetch_sessions_; }
  Lifecycle& lifecycle() { return *lifecycle_; }
  ProducerIds& producer_ids() { return *producer_ids_; }
  TopicCreation& topic_creation() { return *topic_creation_; }
  Metrics& metrics() { return *metrics_; }

  // Lines that a log or a directory has for the operator.
  void print(const std::vector<log::Notice>& notices);
  // The same for what a client or a bad disk can cause again and again: at a bounded rate.
  void complain(std::string line);
  // Prints what the partition's log has found, and counts new damage.
  void note_damage(Partition& partition);

 private:
  // True when this broker's effective settings changed.
  bool apply_dynamic_settings(const image::Image& before);

  Surroundings surroundings_;
  Options options_;
  ImagePtr image_;
  config::ServerConfigPtr effective_;
  Deadlines deadlines_;
  Prng prng_;
  bool following_ = false;  // the image is applied to the partitions
  bool stopped_ = false;
  std::vector<RequestPtr> dropped_;  // came after the end; their connections are closed by the node
  std::unique_ptr<metrics::Registry> own_registry_;
  std::unique_ptr<Metrics> metrics_;

  std::unique_ptr<Partitions> partitions_;
  std::unique_ptr<Groups> groups_;
  std::unique_ptr<partition::FetchSessions> fetch_sessions_;
  std::unique_ptr<Lifecycle> lifecycle_;
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<Compaction> compaction_;
  std::unique_ptr<ProducerIds> producer_ids_;
  std::unique_ptr<TopicCreation> topic_creation_;
  std::unique_ptr<Verification> verification_;
  Complaints complaints_;
};

}  // namespace castellan::broker

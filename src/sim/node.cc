// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/node.h"

#include "base/check.h"
#include "config/properties.h"
#include "controller/activation.h"
#include "image/metadata_record.h"
#include "image/metadata_version.h"
#include "log/metadata_snapshot.h"
#include "raft/control_records.h"
#include "record/builder.h"
#include "wire/messages/kraft_version_record.h"
#include "wire/messages/voters_record.h"

namespace castellan::sim {
namespace {

using std::chrono::microseconds;

std::string properties(const Node::Setup& setup) {
  const std::string host = Network::name_of(setup.id);
  std::string text = setup.controller ? fmt::format("process.roles=controller\nnode.id={}\nlisteners=CONTROLLER://{}:9093\n", setup.id, host)
                                      : fmt::format("process.roles=broker\nnode.id={}\nlisteners=PLAINTEXT://{}:9092\n", setup.id, host);
  text += "controller.listener.names=CONTROLLER\nlog.dirs=/metadata\nlistener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n";
  std::string addresses;
  for (const int id : setup.static_voters ? setup.voters : setup.controllers) {
    addresses += fmt::format("{}{}{}:9093", addresses.empty() ? "" : ",", setup.static_voters ? std::to_string(id) + "@" : "", Network::name_of(id));
  }
  return text + fmt::format("controller.quorum.{}={}\n", setup.static_voters ? "voters" : "bootstrap.servers", addresses) + setup.properties;
}

// The same few configurations are wanted by thousands of runs.
config::ServerConfigPtr parsed(const std::string& text) {
  static std::map<std::string, config::ServerConfigPtr> known;
  auto& config = known[text];
  if (config) return config;
  if (known.size() > 1000) known = {};
  auto given = config::parse_properties(text, "server.properties");
  CHECK(given.has_value(), "{}", given ? "" : given.error().message);
  auto server = config::ServerConfig::parse(*given);
  CHECK(server.has_value(), "{}", server ? "" : server.error().message);
  return known[text] = std::make_shared<const config::ServerConfig>(std::move(*server));
}

DirectoryId directory_of(int id, int disk) { return DirectoryId{Uuid{0x1234'4000u + static_cast<uint64_t>(disk), 0x8000'0000'0000'0000 + static_cast<uint64_t>(id)}}; }

}  // namespace

Node::Node(Schedule& schedule, Network& network, Prng& random, const Trace& trace, Setup setup)
    : schedule_(schedule), network_(network), random_(random), trace_(trace), setup_(std::move(setup)), config_(parsed(properties(setup_))),
      clock_(schedule.now_source(), setup_.clock_ppm) {
  new_disk();
  network_.add(setup_.id, this);
}

Node::~Node() { drop(); }

void Node::new_disk() {
  disk_ = std::make_unique<Disk>();
  directory_id_ = directory_of(setup_.id, ++disks_);
  disk_->on_renamed([this](const std::string& to) {
    if (snapshot_told_ && to.ends_with(".checkpoint")) snapshot_told_(*this, to);
  });
}

void Node::format() {
  format_folder();
}

void Node::format_folder() {
  io::MemoryFileSystem& files = disk_->memory();
  const auto write = [&]() -> Result<void> {
    TRY_VOID(files.make_directories(folder));
    TRY_VOID(files.sync_directory("/"));
    TRY_VOID(files.sync_directory(directory));
    if (!setup_.controller) return {};
    const log::SnapshotId id = log::bootstrap_snapshot;
    TRY(const auto writer, log::SnapshotWriter::create(files, folder, id));
    const wire::KRaftVersionRecord version{.kraft_version = 1};
    std::vector<raft::Voter> voters;
    for (const int voter : setup_.voters) {
      voters.push_back({.key = {NodeId{voter}, directory_of(voter, 1)}, .endpoints = {{"CONTROLLER", {Network::name_of(voter), 9093}}}, .kraft_version = raft::kraft_versions});
    }
    const auto voters_record = raft::voters_to_wire(raft::VoterSet(voters));
    const bool dynamic = !setup_.static_voters;
    // A replica that joins later is formatted without voters (--no-initial-controllers).
    const bool first = dynamic && disks_ == 1 && std::ranges::find(setup_.voters, setup_.id) != setup_.voters.end();
    TRY_VOID(writer->append(log::snapshot_header_batch(id, 0, dynamic ? &version : nullptr, first ? &voters_record : nullptr, 0)));
    int64_t offset = 1 + dynamic + first;
    record::BatchBuilder builder({.base_offset = offset, .leader_epoch = 0});
    const auto levels = image::default_feature_levels(*image::MetadataVersion::from_level(image::MetadataVersion::level_latest_production));
    for (const auto& record : controller::bootstrap_records(levels)) {
      builder.append(0, std::nullopt, image::encode_metadata_record(record));
      ++offset;
    }
    TRY_VOID(writer->append(builder.finish()));
    TRY_VOID(writer->append(log::snapshot_footer_batch(id, offset, 0)));
    return writer->freeze();
  };
  const auto written = write();
  CHECK(written.has_value(), "{}", written ? "" : written.error().message);
}

Result<void> Node::start() {
  ++life_;
  fatal_.clear();
  raft_ = schedule_.lane({microseconds(1), microseconds(30)}, random_);
  metadata_ = schedule_.lane({microseconds(1), microseconds(100)}, random_);
  sync_ = schedule_.lane({microseconds(50), sync_longest_}, random_);
  workers_ = schedule_.lane({microseconds(100), microseconds(10'000)}, random_);
  quorum::Surroundings surroundings{.files = *disk_, .clock = clock_, .channel = &network_.channel(setup_.id), .raft = *raft_, .metadata = *metadata_, .log_sync = *sync_, .workers = *workers_};
  quorum::Options options{.config = config_, .cluster_id = cluster_id, .directory = directory, .directory_id = directory_id_, .controller_listeners = {}, .seed = random_.next()};
  if (setup_.controller) options.controller_listeners = {{"CONTROLLER", {Network::name_of(setup_.id), 9093}}};
  options.print = [this](int level, const std::string& line) {
    if (trace_) trace_("node {} says{}: {}", setup_.id, level >= 2 ? " loudly" : "", line);
  };
  options.fatal = [this](const std::string& reason) { fatal_ = reason; };
  if (trace_) trace_("node {} starts, life {}", setup_.id, life_);
  auto opened = quorum::MetadataNode::open(surroundings, std::move(options));
  // Opening looks for damage and cuts torn ends.
  disk_->log().reload(disk_->memory(), folder);
  if (!opened) {
    drop();
    return castellan::unexpected(opened.error());
  }
  node_ = std::move(*opened);
  raft_->attach(&node_->raft_loop(), &clock_);
  metadata_->attach(&node_->metadata_loop(), &clock_);
  node_->start();
  return {};
}

// Work first: nothing may run for a loop that is gone.
void Node::drop() {
  raft_.reset();
  metadata_.reset();
  sync_.reset();
  workers_.reset();
  node_.reset();
  network_.gone(setup_.id);
}

void Node::kill() {
  if (trace_) trace_("node {} is killed", setup_.id);
  drop();
}

void Node::crash(Prng* random) {
  if (trace_) trace_("node {} loses power", setup_.id);
  drop();
  disk_->crash(random, folder);
}

void Node::stop(std::function<void()> ended) {
  if (trace_) trace_("node {} is told to end", setup_.id);
  node_->stop([this, ended = std::move(ended), life = life_] {
    // Not from within the node's own work.
    schedule_.after(Duration(1), [this, ended, life] {
      if (life != life_ || !running()) return;
      if (trace_) trace_("node {} has ended", setup_.id);
      drop();
      ended();
    });
  });
}

void Node::pause_until(MonotonicTime time) {
  if (trace_) trace_("node {} stands still", setup_.id);
  paused_until_ = time;
  for (auto* lane : {raft_.get(), metadata_.get(), sync_.get(), workers_.get()}) lane->hold_until(time);
}

void Node::resume() {
  paused_until_ = std::min(paused_until_, schedule_.now());
  for (auto* lane : {raft_.get(), metadata_.get(), sync_.get(), workers_.get()}) {
    if (lane) lane->release();
  }
}

void Node::set_sync_time(Duration longest) {
  sync_longest_ = longest;
  if (sync_) sync_->set_delays({microseconds(50), longest});
}

void Node::replace_disk() {
  if (trace_) trace_("node {} gets another disk", setup_.id);
  new_disk();
  format_folder();
}

void Node::wipe_log() {
  if (trace_) trace_("node {} loses its metadata log", setup_.id);
  disk_->memory().fail_when(nullptr);  // whoever wipes it has mended it
  CHECK(disk_->memory().remove_all(folder).has_value());
  disk_->log().restart_at(0);
  format_folder();
}

void Node::deliver(quorum::MetadataRequest request, quorum::MetadataNode::Reply reply) { node_->handle(std::move(request), std::move(reply)); }

Seen Node::seen() const {
  return {.node = setup_.id, .life = life_, .core = *core(), .log = disk_->log(), .committed = static_cast<quorum::RaftLoop&>(node_->raft_loop()).committed()};
}

const raft::Core* Node::core() const {
  if (!node_ || raft_->done() == 0) return nullptr;
  return &static_cast<quorum::RaftLoop&>(node_->raft_loop()).core();
}

}  // namespace castellan::sim
